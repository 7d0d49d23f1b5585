#!/usr/bin/env python3
"""Plans Triton candidates where there is no GPU: a process that imports torch and triton once, and forks for each candidate.

Over the stream socket at descriptor 3 go frames: a length of 4 bytes, little-endian, and that many bytes. The first says that it is ready,
{"ready": true, "python": …, "torch": …, "triton": …}, or {"ready": false, "error": …}. Then each request, a frame of JSON, gets a reply: a
frame of JSON, and if its status is "ok" one frame for each of its "cubins". env/plan/triton_reply.h has the reply's fields.

    zygote.py --plan CANDIDATE.py --request REQUEST.json     prints the reply of one candidate (without a box)
"""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
if HERE not in sys.path:
    sys.path.insert(0, HERE)

# Read by Triton when it is imported. A cubin must not depend on where its source lies.
SETTINGS = {"TRITON_DISABLE_LINE_INFO": "1", "TRITON_STORE_BINARY_ONLY": "1"}


def settle(folder):
    os.environ.update(SETTINGS, TRITON_CACHE_DIR=os.path.join(folder, "cache"), TMPDIR=folder)
    tempfile.tempdir = folder


def plan_one(candidate, request):
    """Plans one file in this process, for people and tests."""
    with open(request) as file:
        words = json.load(file)
    with open(candidate) as file:
        words["source"] = file.read()
    with tempfile.TemporaryDirectory() as folder:
        settle(folder)
        from candidate import plan_candidate
        reply, cubins = plan_candidate(words, folder)
    return reply, cubins


def main():
    import argparse
    options = argparse.ArgumentParser()
    options.add_argument("--plan")
    options.add_argument("--request")
    options.add_argument("--cubins", help="a folder for the cubins")
    told = options.parse_args()
    if told.plan:
        reply, cubins = plan_one(told.plan, told.request)
        for number, cubin in enumerate(cubins if told.cubins else []):
            with open(os.path.join(told.cubins, f"{number}.cubin"), "wb") as file:
                file.write(cubin)
        print(json.dumps(reply, indent=1))
        return


if __name__ == "__main__":
    main()
