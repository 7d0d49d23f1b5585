"""The page through which a call is timed: words that the broker and this process write for each other, each in a cache line of its own.

A call has a number. The broker writes it at `go` before its inputs are shown, and at `given` when they are there or, on a GPU, on their way.
A candidate's process writes it at `computed` when its result is there, and beforehand where that lies at `places`. The reference has a page,
too: what to do is at `step`, `go` starts it, and `done` says that it is over. What a call took is at `took`, in nanoseconds.
"""
import ctypes
import mmap
import os

PAGE, LINE = 4096, 64
PLACES, MOST_PLACES = 512, 256  # env/kernelbench/turns/clock_page.h
SPINS = 32  # between two offers of the core, without which whoever shall write the word may wait for it
LOOK = 1 << 14  # of these between two looks whether anybody is still there


class ClockPage:
    def __init__(self, descriptor):
        self.memory = mmap.mmap(descriptor, PAGE)
        self.go, self.done, self.given, self.computed, self.step, self.took = (
            ctypes.c_uint64.from_buffer(self.memory, LINE * at) for at in range(6))
        self.places = (ctypes.c_uint64 * MOST_PLACES).from_buffer(self.memory, PLACES)

    def wait(self, word, number, gone):
        """Spins until the broker has written that number. Whether it has: not where `gone()` says that nobody is there."""
        while True:
            for _ in range(LOOK):
                for _ in range(SPINS):
                    if word.value == number:
                        return True
                os.sched_yield()
            if gone():
                return False
