#!/usr/bin/env python3
"""Forks the processes of candidates (candidate_main.py): it has imported what takes them seconds, and runs nothing of theirs.

    zygote_main.py --device cpu|cuda

Descriptor 3 is a stream socket of frames. The first says {"status": "ready"}. Each request gets one answer:

    {"op": "fork", "exchange_bytes", "user"}    with three descriptors, the new process's 3, 4 and 5
                                                {"status": "ok", "pid"} and its pidfd, or {"status": "failed", "message"}
    {"op": "ended", "pid"}                      {"status": "ok", "wait_status"} of a process that has ended; asked once for each

A forked process is the init of a pid namespace and has other namespaces of its own before it makes a context. This process must not ask
CUDA's driver for anything: what it forks could not use a GPU then.
"""
import argparse
import fcntl
import gc
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../drawing"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

import candidate_main  # noqa: E402
import lock_up  # noqa: E402
from channel import Channel  # noqa: E402

CHANNEL, GIVEN = 3, 3  # the first descriptor, and how many a forked process has
HIGH = 64  # descriptors lie there on their way to their places


def prepare(device):
    """Triton's version, when a process that is forked lacks nothing but a context."""
    triton = candidate_main.import_all()
    import clock  # noqa: F401
    import exchange  # noqa: F401
    import warming
    if candidate_main.load_triton_driver(triton, device) is not None:
        warming.compile_one()
    if (threads := len(os.listdir("/proc/self/task"))) != 1:
        raise RuntimeError(f"there are {threads} threads after the imports, and only one can be forked")
    gc.collect()
    gc.freeze()  # so that a forked process's collector does not write to every page it shares with us
    return triton


def serve(channel):
    """Until the other end hangs up: then None. In a forked process (request, descriptors), so that nothing of this one is on its stack."""
    while True:
        request, given = channel.receive_with_descriptors(GIVEN)
        if request is None:
            return None
        if request["op"] == "ended":
            channel.send({"status": "ok", "wait_status": os.waitpid(request["pid"], 0)[1]})
            continue
        try:
            pid = lock_up.fork_apart()
            if pid == 0:
                return request, given
            answer, told = {"status": "ok", "pid": pid}, [os.pidfd_open(pid)]
        except OSError as error:
            answer, told = {"status": "failed", "message": str(error)}, []
        channel.send(answer, told)
        for one in (*given, *told):
            os.close(one)


def settle_descriptors(given):
    """They get their places, and all others above 2 are closed: this process's own channel above all."""
    for to, one in enumerate([fcntl.fcntl(one, fcntl.F_DUPFD, HIGH) for one in given], CHANNEL):
        os.dup2(one, to)
    os.closerange(CHANNEL + len(given), os.sysconf("SC_OPEN_MAX"))


def settle(triton):
    """What a forked process does before it makes a context."""
    lock_up.settle_apart()
    if candidate_main.torch.cuda._is_in_bad_fork():
        raise RuntimeError("the process that was forked has asked CUDA's driver, so that this one cannot use it")
    return triton


def main():
    options = argparse.ArgumentParser(description="forks the processes of candidates for the broker at descriptor 3")
    options.add_argument("--device", choices=("cpu", "cuda"), required=True)
    told = options.parse_args()
    channel = Channel(CHANNEL)
    try:
        triton = prepare(told.device)
    except Exception as error:
        channel.send({"status": "failed", "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready"})
    forked = serve(channel)
    if forked is None:
        return
    channel.socket.detach()
    request, given = forked
    settle_descriptors(given)
    os.environ["TEMPER_LOCKUP_USER"] = str(request["user"])
    candidate_main.run(told.device, request["exchange_bytes"], lambda: settle(triton))


if __name__ == "__main__":
    main()
