"""How long tests wait. A test never asks that something is done soon: on a machine that others keep busy nothing is. It waits until it is
done, and what must not happen would take longer than its patience."""

import functools
import time
from pathlib import Path

PATIENCE_S = 600  # for what takes seconds where nothing else runs


def comes_true(condition):
    """Waits until it is so. False: patience is over."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@functools.cache
def sanitized(program):
    content = Path(program).read_bytes()
    return b"__asan_init" in content or b"__tsan_init" in content


def patience(program):
    """What limits of time are multiplied by: a program that sanitizers watch takes several times as long."""
    return 6 if sanitized(program) else 1
