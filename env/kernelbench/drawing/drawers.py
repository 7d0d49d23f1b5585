"""Draws KernelBench's inputs side by side. Its generator is the host's and draws a hundred million numbers a second on a core, so that a
problem of gigabytes takes a minute for its five draws; each of them begins with its own seed, and so can have its own core.

The processes are forked from one that was forked before there was a CUDA context.
"""
import json
import mmap
import os
import signal
import socket

import torch

from exchange import NAMES, TYPES, bytes_of, contiguous, extent
from frames import read_exactly

LEAST_BYTES = 32 << 20  # of inputs, below which a draw takes no time


def write_draw(file, said, request):
    """Draws and casts the inputs into the file, and says what lies where."""
    import comparable
    from problem import Problem
    torch.set_num_threads(1)
    problem = Problem(request["source"], request["precision"], "cpu")
    inputs = [problem.cast(one, request["integers"]) for one in comparable.draw_inputs(problem, request["seed"])]
    told, at = [], 0
    for one in inputs:
        if not isinstance(one, torch.Tensor):
            told.append({"value": one})
            continue
        spec = {"sizes": list(one.shape), "strides": list(one.stride()), "type": NAMES[one.dtype], "offset": at}
        at += -(-bytes_of(spec) // mmap.PAGESIZE) * mmap.PAGESIZE
        told.append(spec)
    os.ftruncate(file, max(at, 1))
    memory = mmap.mmap(file, max(at, 1))
    for one, spec in zip(inputs, told):
        if "value" not in spec and one.numel():
            tensor_in(memory, spec).copy_(one)
    with os.fdopen(said, "w") as out:
        json.dump(told, out)


def tensor_in(memory, spec):
    sizes, strides = spec["sizes"], spec["strides"]
    raw = torch.frombuffer(memory, dtype=TYPES[spec["type"]], count=extent(sizes, strides), offset=spec["offset"])
    return raw.view(sizes) if strides == contiguous(sizes) else raw.as_strided(sizes, strides)


def serve(channel):
    """Forks a process for each request, which has a file to write into and a pipe to answer through."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while True:
        length, descriptors, _, _ = socket.recv_fds(channel, 8, 2)
        if len(length) < 8:
            os._exit(0)
        data = read_exactly(channel.recv, int.from_bytes(length, "little"))
        if data is None:
            os._exit(0)
        if os.fork() == 0:
            try:
                channel.close()
                write_draw(*descriptors, json.loads(data))
            finally:
                os._exit(0)
        for one in descriptors:
            os.close(one)


class Drawers:
    """`own` are descriptors of this process that those processes must not keep open."""

    def __init__(self, own):
        self.channel, theirs = socket.socketpair()
        self.least_bytes, self.free = LEAST_BYTES, max((os.cpu_count() or 1) - 1, 0)
        if os.fork() == 0:
            try:
                self.channel.close()
                for one in own:
                    os.close(one)
                serve(theirs)
            finally:
                os._exit(0)
        theirs.close()

    def start(self, problem, precision, integers, seed):
        """A draw that is going on."""
        file, (reader, writer) = os.memfd_create("draw"), os.pipe()
        data = json.dumps({"source": problem.source, "precision": precision, "integers": integers, "seed": seed}).encode()
        try:
            socket.send_fds(self.channel, [len(data).to_bytes(8, "little")], [file, writer])
            self.channel.sendall(data)
        finally:
            os.close(writer)
        return Drawing(file, reader)


class Drawing:
    def __init__(self, file, reader):
        self.file, self.reader = file, reader

    def inputs(self, device):
        """Waits for them; None where it did not work. Once only."""
        try:
            with os.fdopen(self.reader) as said:
                text = said.read()
            if not text:
                return None
            told = json.loads(text)
            memory = mmap.mmap(self.file, os.fstat(self.file).st_size)
            return [one["value"] if "value" in one else on_device(memory, one, device) for one in told]
        finally:
            os.close(self.file)

    def close(self):
        os.close(self.reader)
        os.close(self.file)


def on_device(memory, spec, device):
    tensor = tensor_in(memory, spec) if bytes_of(spec) else torch.empty(spec["sizes"], dtype=TYPES[spec["type"]])
    return tensor.to(device) if device != "cpu" else tensor.clone()
