"""What a call runs on the GPU, as CUPTI records it. torch's own profiler records the same, but takes five seconds of a core to start."""
import ctypes

import torch

KINDS = {1: "Memcpy", 2: "Memset", 10: ""}  # CUPTI_ACTIVITY_KIND_…; kernels have names of their own
# Of each kind's record, since CUDA 12. Later ones only became longer.
START, END, NAME = 16, 24, 104
BUFFER_BYTES = 1 << 20
FORCED = 1  # CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

GIVE = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t))
TAKE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


def library_of_torch():
    """The one that torch has loaded."""
    return ctypes.CDLL(f"libcupti.so.{torch.version.cuda.partition('.')[0]}")


def record_of(address):
    """(name, microseconds), or None for a kind that was not asked for."""
    kind = ctypes.c_uint32.from_address(address).value
    if kind not in KINDS:
        return None
    name = KINDS[kind] or ctypes.c_char_p.from_address(address + NAME).value.decode(errors="replace")
    start, end = (ctypes.c_uint64.from_address(address + at).value for at in (START, END))
    return name, (end - start) * 1e-3


class Recorder:
    """Errors: OSError where there is no CUPTI, RuntimeError with the call that fails."""

    def __init__(self, library=None):
        self.library = library or library_of_torch()
        self.buffers, self.records = {}, []
        # CUPTI keeps their addresses.
        self.callbacks = GIVE(self.give), TAKE(self.take)
        self.call("cuptiActivityRegisterCallbacks", *self.callbacks)

    def call(self, name, *arguments):
        if result := getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name} fails with error {result}")

    def give(self, buffer, bytes_, most_records):
        memory = ctypes.create_string_buffer(BUFFER_BYTES)
        buffer[0], bytes_[0], most_records[0] = ctypes.addressof(memory), BUFFER_BYTES, 0
        self.buffers[buffer[0]] = memory

    def take(self, _context, _stream, buffer, _bytes, valid):
        at = ctypes.c_void_p()
        next_record = self.library.cuptiActivityGetNextRecord
        while valid and next_record(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(at)) == 0:
            if record := record_of(at.value):
                self.records.append(record)
        self.buffers.pop(buffer, None)

    def record(self, run):
        """(name, microseconds) of each kernel, copy and memset until all that `run` has begun is over. Kernels' names are mangled."""
        for kind in KINDS:
            self.call("cuptiActivityEnable", kind)
        run()
        self.call("cuptiActivityFlushAll", FORCED)
        for kind in KINDS:
            self.call("cuptiActivityDisable", kind)
        records, self.records = self.records, []
        return records
