#!/usr/bin/env python3
"""Tells what the tensors of problems take, from their shapes: no number is drawn and no memory of a GPU is needed.

Over the stream socket at descriptor 3 go frames. The first says {"status": "ready"}. Each request has "source" and "precision", and the
answer "inputs", "weights" and "outputs", in bytes; or it is {"status": "unknown"}, where the problem cannot be run without values or
takes longer than it may (room.py).
"""
import json
import os
import select
import signal
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../drawing"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

CHANNEL = 3


WAIT_S = 5  # for a child beyond its own limits, if Python gets no turn in it


def look(request):
    from room import LIMIT_S, TookTooLong, limit, shapes
    from problem import Problem, ProblemError
    try:
        with limit(LIMIT_S):  # of what its file does when it is imported
            problem = Problem(request["source"], request["precision"], "cpu")
        return shapes(problem)
    except (ProblemError, TookTooLong):
        return None


def answer(request):
    """In a child of its own: what is stopped half-way, or changes torch, is gone with it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = look(request)
            os.write(writing, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        if not select.select([reading], [], [], WAIT_S)[0]:
            os.kill(child, signal.SIGKILL)
        told = os.read(reading, 4096)
    finally:
        os.close(reading)
        os.waitpid(child, 0)
    found = json.loads(told) if told else None
    return {"status": "unknown"} if found is None else {"status": "ok", **found}


def main():
    from channel import Channel
    channel = Channel(CHANNEL)
    try:
        import torch
        from room import warm_up
        torch.set_num_threads(1)
        warm_up()
    except Exception as error:
        channel.send({"status": "failed", "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready"})
    while (request := channel.receive()) is not None:
        channel.send(answer(request))


if __name__ == "__main__":
    main()
