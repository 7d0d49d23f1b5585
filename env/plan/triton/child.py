"""One forked process: gives up what it can, plans its candidate, and writes the reply into a pipe."""
import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import tempfile
import traceback

from frames import frame
from planning import plan_candidate

LOCKED = b"\0"  # begins what a child writes: from here on a candidate may have written it
LOCK_UP = "TEMPER_LOCKUP"  # names the library
MAX_FILE_BYTES = 256 << 20


class LockUp:
    """The library that makes a box of a process (env/box/python_lock_up.h)."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.temper_lock_up_python.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
        for name in ("temper_fork_apart", "temper_fork_beside", "temper_lock_up_python"):
            getattr(self.library, name).restype = ctypes.c_char_p

    def fork(self):
        """As os.fork, but the child is the first process of a pid namespace, and all that it starts ends with it. Errors: OSError."""
        if words := self.library.temper_fork_apart():
            raise OSError(words.decode())
        pid = os.fork()
        if pid and (words := self.library.temper_fork_beside()):
            raise OSError(words.decode())
        return pid

    def lock_up(self, folder, request):
        """Null, or in words what did not work. The folder is empty afterwards, and nothing else can be written."""
        return self.library.temper_lock_up_python(folder.encode(), request["memory_bytes"], request["cpu_s"])


class NoLockUp:
    """For tests, and for people without a box."""
    fork = staticmethod(os.fork)

    @staticmethod
    def lock_up(_, request):
        limit(request)


def load_lock_up():
    path = os.environ.get(LOCK_UP)
    return LockUp(path) if path else NoLockUp()


def limit(request):
    """Without a box: at least no runaway."""
    resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_s"], request["cpu_s"] + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (request["memory_bytes"], request["memory_bytes"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def settle_pipes(reply, output, null):
    """Standard output and errors go into `output`. Only `reply` stays open besides."""
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, reply)
    os.closerange(reply + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] if reply < 1024 else reply + 1)


def use_folder(folder):
    """All that Triton and the candidate write lies there."""
    os.environ.update(TRITON_CACHE_DIR=os.path.join(folder, "cache"), TMPDIR=folder, HOME=folder)
    tempfile.tempdir = folder
    os.chdir(folder)


@contextlib.contextmanager
def scratch_folder():
    """The same for a while, in a folder that is removed afterwards."""
    environment, temporary, here = dict(os.environ), tempfile.tempdir, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        use_folder(folder)
        try:
            yield folder
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(environment)
            tempfile.tempdir = temporary


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]


def run(request, folder, reply, output, null, phase, lock_up):
    """Never returns."""
    try:
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        settle_pipes(reply, output, null)
        if problem := lock_up.lock_up(folder, request):
            write_all(reply, problem)
            os._exit(1)
        write_all(reply, LOCKED)
        use_folder(folder)
        answer, cubins = plan_candidate(request, folder, phase)
        sys.stdout.flush()
        write_all(reply, frame(json.dumps(answer).encode()) + b"".join(map(frame, cubins)))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
