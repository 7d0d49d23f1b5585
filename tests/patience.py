"""How long tests wait for the program. One that sanitizers watch takes several times as long."""

import functools
from pathlib import Path


@functools.cache
def sanitized(program):
    content = Path(program).read_bytes()
    return b"__asan_init" in content or b"__tsan_init" in content


def patience(program):
    """What limits of time are multiplied by."""
    return 6 if sanitized(program) else 1
