#!/usr/bin/env python3
"""Plans Triton candidates where there is no GPU: a process that imports torch and triton once, and forks for each candidate.

Over the stream socket at descriptor 3 go frames: a length of 4 bytes, little-endian, and that many bytes. The first says that it is ready,
{"ready": true, "python": …, "torch": …, "triton": …}, or {"ready": false, "error": …}. Then each request, a frame of JSON, gets a reply: a
frame of JSON, and if its status is "ok" one frame for each of its "cubins". env/plan/triton/reply.h has the reply's fields.

    zygote.py --plan CANDIDATE.py --request REQUEST.json     prints the reply of one candidate (without a box)
"""
import argparse
import contextlib
import json
import os
import platform
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
if HERE not in sys.path:
    sys.path.insert(0, HERE)

from frames import frame  # noqa: E402

# Read when Triton and numpy are imported. A cubin must not depend on where its source lies, and only one thread can be forked.
SETTINGS = {"TRITON_DISABLE_LINE_INFO": "1", "TRITON_STORE_BINARY_ONLY": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
CHANNEL = 3
HUGE_PAGES = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")  # halves what a fork of this process costs; read when a program starts


def plan_one(candidate, request):
    """Plans one file in this process, for people and tests. Returns (reply, cubins)."""
    with open(request) as file:
        words = json.load(file)
    with open(candidate) as file:
        words["source"] = file.read()
    from planning import plan_candidate
    from child import scratch_folder
    with scratch_folder() as folder:
        return plan_candidate(words, folder)


def start_again():
    """Once, with memory in huge pages."""
    name, value = HUGE_PAGES
    if os.environ.get(name) != value:
        with contextlib.suppress(OSError):  # it works without, too
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, name: value})
    os.environ.pop(name, None)


def serve():
    """Until the other end of the channel is closed."""
    try:
        import torch
        import triton

        import server
        import warm
        warm.warm_up()
        ready = {"ready": True, "python": platform.python_version(), "torch": torch.__version__, "triton": triton.__version__}
    except Exception as error:
        os.write(CHANNEL, frame(json.dumps({"ready": False, "error": f"{type(error).__name__}: {error}"}).encode()))
        return
    server.serve(CHANNEL, ready)


def main():
    options = argparse.ArgumentParser(description="plans Triton candidates; without options, those that come over descriptor 3")
    options.add_argument("--plan", metavar="CANDIDATE", help="a file to plan in this process, without a box")
    options.add_argument("--request", metavar="JSON", help="the task's shapes and the target, as they come over the channel")
    options.add_argument("--cubins", metavar="FOLDER", help="where to write the cubins")
    told = options.parse_args()
    if not told.plan:
        start_again()
    os.environ.update(SETTINGS)
    if not told.plan:
        serve()
        return
    reply, cubins = plan_one(told.plan, told.request)
    for number, cubin in enumerate(cubins if told.cubins else []):
        with open(os.path.join(told.cubins, f"{number}.cubin"), "wb") as file:
            file.write(cubin)
    print(json.dumps(reply, indent=1))


if __name__ == "__main__":
    main()
