"""The page through which a call is timed: the broker writes the call's number at `go`, and this process at `done`."""
import ctypes
import mmap

PAGE, GO, DONE = 4096, 0, 64
LOOK = 1 << 20  # spins between two looks whether anybody is still there


class ClockPage:
    def __init__(self, descriptor):
        self.memory = mmap.mmap(descriptor, PAGE)
        self.go = ctypes.c_uint64.from_buffer(self.memory, GO)
        self.done = ctypes.c_uint64.from_buffer(self.memory, DONE)

    def wait(self, number, gone):
        """Spins until the broker has written that number. Whether it has: not where `gone()` says that nobody is there."""
        go = self.go
        while True:
            for _ in range(LOOK):
                if go.value == number:
                    return True
            if gone():
                return False
