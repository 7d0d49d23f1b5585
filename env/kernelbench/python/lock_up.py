"""Calls the library that makes boxes of processes (env/box/python_lock_up.h). Where TEMPER_LOCKUP names none, nothing is locked up."""
import ctypes
import os

LIBRARY = "TEMPER_LOCKUP"


def call(name, *arguments):
    """Errors: OSError with what did not work."""
    path = os.environ.get(LIBRARY)
    if not path:
        return
    function = getattr(ctypes.CDLL(path), name)
    function.restype = ctypes.c_char_p
    if words := function(*arguments):
        raise OSError(words.decode())


def fork_apart():
    """As os.fork, but the child is the first process of a pid namespace, and all that it starts ends with it. Errors: OSError."""
    call("temper_fork_apart")
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid:
            call("temper_fork_beside")
    return pid


def settle_apart():
    """In a process that was forked apart, before it has other threads. Errors: OSError."""
    call("temper_settle_apart")


def lock_up(folder):
    """Errors: OSError."""
    call("temper_lock_up_module", folder.encode())
