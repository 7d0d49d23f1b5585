"""The memory in which calls pass between the reference and one party, the baseline or a candidate: inputs, weights, and on a core outputs.
Tensors over it share its bytes. Parties have no memory in common, so that none can read or disturb what another computes on.

On a core it is a file in memory, on a GPU an allocation of the driver's that both processes map. Offsets are in bytes. A word at its
beginning says whether a call's inputs are there.

On a GPU results stay where the party's own allocator has put them. That memory is exported (python_segments.h), and the reference reads it
there: no code of a candidate's takes part in handing results over, and none of its time is free.
"""
import mmap
import os
import time

import torch

import vmm

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i64": torch.int64, "i32": torch.int32,
         "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
NAMES = {dtype: name for name, dtype in TYPES.items()}
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes
ALIGNMENT = 256
PERSISTING_L2_LIMIT = 6  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE
SHOWN_BYTES = ALIGNMENT  # of that word and what pads it
LAUNCH_CYCLES, HOLD_CYCLES = 300_000, 500_000  # 150 and 250 us at a GPU's full clock
IDLE_LAUNCHES = 4
KEPT_BYTES = 1 << 30  # env/kernelbench/module_bench.cc
EQUAL = 1  # CU_STREAM_WAIT_VALUE_EQ


def extent(sizes, strides):
    """How many elements lie from the first to the last, both counted."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))


def contiguous(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def bytes_of(spec):
    """What a tensor of these "sizes", "type" and perhaps "strides" covers."""
    return extent(spec["sizes"], spec.get("strides") or contiguous(spec["sizes"])) * TYPES[spec["type"]].itemsize


def spec_of(tensor):
    """{"sizes", "strides", "type"}, or an error that names a type which cannot pass."""
    if tensor.dtype not in NAMES:
        raise TypeError(f"a tensor of {tensor.dtype}")
    return {"sizes": list(tensor.shape), "strides": list(tensor.stride()), "type": NAMES[tensor.dtype]}


class CpuExchange:
    """Maps the file at a descriptor, which whoever calls grow() makes as long as needed."""
    device = "cpu"

    def __init__(self, descriptor):
        self.descriptor, self.bytes = descriptor, 0
        self.memory = self.all = None
        self.map()

    def map(self):
        size = os.fstat(self.descriptor).st_size
        if size > self.bytes:
            # The old map stays as long as a tensor over it does.
            self.memory, self.bytes = mmap.mmap(self.descriptor, size), size
            self.all = torch.frombuffer(self.memory, dtype=torch.uint8)

    def grow(self, bytes_):
        """Whether the memory is another one than before."""
        if bytes_ <= self.bytes:
            return False
        os.ftruncate(self.descriptor, bytes_)
        self.map()
        return False  # the file is the same

    def shrink(self):
        """A file stays as long as it has been."""

    def raw(self, dtype, count, offset):
        if offset + count * dtype.itemsize > self.bytes:
            self.map()
        return torch.frombuffer(self.memory, dtype=dtype, count=count, offset=offset)

    @staticmethod
    def synchronize():
        pass

    hide = wait_until_shown = forget_persisting = synchronize

    def show(self, write):
        write()
        self.begun = time.perf_counter_ns()

    def took_ns(self, read):
        """From when inputs were shown until `read` has copied the outputs."""
        read()
        return time.perf_counter_ns() - self.begun

    @staticmethod
    def reaches(_result):
        return True

    @staticmethod
    def idle_us():
        return 0.0

    def hand_over(self, results, outputs, _page, _send):
        """Copies them to their places. What has another shape or type than asked for is told and not copied."""
        for result, output in zip(results, outputs):
            if is_as(result, output, "cpu"):
                tensor_at(self, {**output, "strides": None}).copy_(result)

    def results(self, outputs, _places, _segments):
        return [tensor_at(self, {**one, "strides": None}) for one in outputs]


class OnDevice:
    """What torch.as_tensor takes memory of the GPU from."""

    def __init__(self, address, bytes_, owner):
        self.owner = owner
        self.__cuda_array_interface__ = {"data": (address, False), "typestr": "|u1", "shape": (bytes_,), "strides": None, "version": 2}


class CudaExchange:
    """Memory of the GPU: new where grow() is called, imported where there is a descriptor."""
    device = "cuda"

    def __init__(self, descriptor=None, bytes_=0):
        torch.cuda.init()
        torch.zeros(1, device="cuda")  # makes the context current
        self.index = torch.cuda.current_device()
        self.driver = vmm.Driver()
        self.bytes, self.shared, self.segments = bytes_, None, None
        self.synchronize = torch.cuda.synchronize
        if descriptor is not None:
            whole = vmm.Shared.whole_pages(self.driver, self.index, bytes_)
            self.shared = vmm.Shared.imported(self.driver, self.index, descriptor, whole)
            self.segments = vmm.Segments()
            if not self.reaches(torch.empty(whole_segment := 32 << 20, dtype=torch.uint8, device="cuda")):
                raise RuntimeError(f"torch's memory cannot be given to the reference ({whole_segment >> 20} MiB of it; {vmm.Segments.LIBRARY})")
            torch.cuda.empty_cache()

    def idle_us(self):
        """How long kernels and copies that do nothing take at most, from an idle GPU on. One that other processes keep busy gives us our turn
        later."""
        longest, words = 0.0, self.raw(torch.int32, 2, 0)
        host = torch.zeros(1, dtype=torch.int32)
        for work in (*[words.zero_] * IDLE_LAUNCHES, words[1:].cpu, lambda: words[1:].copy_(host), lambda: words[1:].copy_(words[:1])):
            begun = time.perf_counter()
            work()
            self.synchronize()
            longest = max(longest, time.perf_counter() - begun)
        return longest * 1e6

    def reaches(self, result):
        """Whether the reference can read it where it lies."""
        return result.numel() == 0 or self.segments.holding(result.data_ptr()) is not None

    def hand_over(self, results, outputs, page, send):
        """Says where they lie. What has another shape, type or order than asked for is told and lies nowhere."""
        for at, output in enumerate(outputs):
            page.places[at] = vmm.NOWHERE
            if len(results) == len(outputs) and is_as(results[at], output, "cuda"):
                page.places[at] = self.place_of(results[at], output, send)

    def place_of(self, result, output, send):
        strides = list(result.stride())
        as_reference = strides != contiguous(output["sizes"])
        if as_reference and strides != output["strides"] or result.numel() == 0:
            return vmm.NOWHERE
        segment = self.segments.holding(result.data_ptr())
        self.segments.export_once(segment, send)
        return vmm.place(segment.number, segment.offset, as_reference)

    def imported(self, descriptor, bytes_):
        """A segment of another process's."""
        return vmm.Shared.imported(self.driver, self.index, descriptor, bytes_)

    def results(self, outputs, places, segments):
        """Another process's, where it says that they lie, in its `segments` by number; None for one that is not there."""
        return [self.result_at(one, places[at], segments) for at, one in enumerate(outputs)]

    def result_at(self, output, word, segments):
        if (told := vmm.read_place(word)) is None or told[0] not in segments:
            return None
        segment, offset = segments[told[0]], told[1]
        dtype, strides = TYPES[output["type"]], output["strides"] if told[2] else contiguous(output["sizes"])
        bytes_ = extent(output["sizes"], strides) * dtype.itemsize
        if offset % dtype.itemsize or not 0 < bytes_ <= segment.bytes - offset:
            return None
        raw = torch.as_tensor(OnDevice(segment.address + offset, bytes_, segment), device="cuda")
        return raw.view(dtype).as_strided(output["sizes"], strides)

    def grow(self, bytes_):
        """Whether the memory is another one than before. Tensors over the old one must not be used any more."""
        if bytes_ <= self.bytes:
            return False
        self.release()
        self.shared = vmm.Shared.create(self.driver, self.index, bytes_)
        self.bytes = self.shared.bytes
        return True

    def shrink(self):
        """Gives back what a large problem has needed. Others on the GPU do not reckon with it."""
        if self.bytes > KEPT_BYTES:
            self.release()

    def release(self):
        if self.shared is not None:
            self.synchronize()
            self.shared.close()
            self.shared, self.bytes = None, 0

    def hide(self):
        """No inputs are there until they are shown."""
        self.raw(torch.int32, 1, 0).zero_()

    def show(self, write):
        """Has inputs written some 250 us from now. Kernels that another process launches meanwhile queue, so that how fast its host
        launches them does not matter, as behind a fill of the cache. It does so for whoever is timed, and nobody can compute with what
        is not there."""
        self.begun = torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(LAUNCH_CYCLES)
        self.begun.record()
        torch.cuda._sleep(HOLD_CYCLES)
        write()
        self.raw(torch.int32, 1, 0).fill_(1)
        self.begun.synchronize()

    def took_ns(self, read):
        """From shortly before inputs are shown until `read` has copied the outputs, by the GPU's own clock: however late a host comes to say
        or to see something, the time goes on."""
        ended = torch.cuda.Event(enable_timing=True)
        read()
        ended.record()
        ended.synchronize()
        return int(self.begun.elapsed_time(ended) * 1e6)

    def wait_until_shown(self):
        """The current stream waits, and the host does not."""
        stream = torch.cuda.current_stream().cuda_stream
        self.driver.call("cuStreamWaitValue32_v2", stream, self.shared.address, 1, EQUAL)

    def exported(self):
        return self.shared.exported()

    @property
    def all(self):
        return self.raw(torch.uint8, self.bytes, 0)

    def raw(self, dtype, count, offset):
        if offset + count * dtype.itemsize > self.bytes:
            raise ValueError("a tensor beyond the exchange")
        return self.bytes_at(self.shared.address + offset, count * dtype.itemsize).view(dtype)

    def bytes_at(self, address, count):
        given = torch.as_tensor(OnDevice(address, count, self.shared), device="cuda")
        if given.data_ptr() != address:
            raise RuntimeError("torch copies what it should take as it lies")
        return given

    def forget_persisting(self):
        """Nothing of the L2 cache is set aside any more."""
        self.driver.call("cuCtxSetLimit", PERSISTING_L2_LIMIT, 0)
        self.driver.call("cuCtxResetPersistingL2Cache")


def tensor_at(exchange, spec):
    """The tensor of this "offset", "sizes", "type" and perhaps "strides"."""
    dtype, sizes = TYPES[spec["type"]], spec["sizes"]
    strides = spec.get("strides") or contiguous(sizes)
    count = extent(sizes, strides)
    if count == 0:
        return torch.empty_strided(sizes, strides, dtype=dtype, device=exchange.device)
    raw = exchange.raw(dtype, count, spec["offset"])
    return raw.view(sizes) if strides == contiguous(sizes) else raw.as_strided(sizes, strides)


def copy_by_kernel(own, other):
    """Copies a tensor of the same sizes. Kernels of two processes take turns on a GPU, while the driver's copies may run beside another
    process's kernels: those could then begin on what has arrived, and the copy would take no longer."""
    word = WORDS[other.dtype.itemsize]
    torch.bitwise_or(other.view(word), 0, out=own.view(word))


def is_as(result, output, device):
    """Whether a result has the shape and type that are asked for."""
    return list(result.shape) == output["sizes"] and NAMES.get(result.dtype) == output["type"] and result.device.type == device


def open_exchange(device, descriptor, bytes_=0):
    """What the other process has made."""
    return CpuExchange(descriptor) if device == "cpu" else CudaExchange(descriptor, bytes_)
