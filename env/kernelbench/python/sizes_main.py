#!/usr/bin/env python3
"""Tells what the tensors of problems take, from their shapes: no number is drawn and no memory of a GPU is needed.

Over the stream socket at descriptor 3 go frames. The first says {"status": "ready"}. Each request has "source" and "precision", and the
answer "inputs", "weights" and "outputs", in bytes; or it is {"status": "unknown"}, where the problem cannot be run without values.
"""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

CHANNEL = 3


def answer(request):
    from room import shapes
    from problem import Problem, ProblemError
    try:
        found = shapes(Problem(request["source"], request["precision"], "cpu"))
    except ProblemError:
        found = None
    return {"status": "unknown"} if found is None else {"status": "ok", **found}


def main():
    from channel import Channel
    channel = Channel(CHANNEL)
    try:
        import torch
        torch.set_num_threads(1)
    except Exception as error:
        channel.send({"status": "failed", "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready"})
    while (request := channel.receive()) is not None:
        channel.send(answer(request))


if __name__ == "__main__":
    main()
