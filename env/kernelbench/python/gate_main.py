#!/usr/bin/env python3
"""Says of one source whether it imports what it may not, where that is known without running it. Used for one source.

Over the stream socket at descriptor 3 go frames. The first says {"status": "ready"}. The request has "source". The answer is {"status": "ok"},
or {"status": "failed", "stage": "import", "kind", "reason", "message"} as candidate_main.py would give it. Torch is not needed for that.
"""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../drawing"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

from imports import refusal_in  # noqa: E402

CHANNEL, FILE = 3, "candidate.py"


def answer_to(source):
    if (refused := refusal_in(source, FILE)) is None:
        return {"status": "ok"}
    return {"status": "failed", "stage": "import", "error": "", "message": refused.message, "traceback": "", "compiler": False,
            "kind": refused.kind, "reason": refused.reason}


def main():
    from candidate_main import own_folder
    from channel import Channel
    from lock_up import lock_up
    channel = Channel(CHANNEL)
    try:
        lock_up(own_folder())
    except Exception as error:
        channel.send({"status": "failed", "stage": "start", "error": type(error).__name__, "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready"})
    if (request := channel.receive()) is not None:
        channel.send(answer_to(request["source"]))


if __name__ == "__main__":
    main()
