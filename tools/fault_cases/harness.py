"""What the cases stand on: each in a process of its own, in a folder of its own, with nothing left behind."""

import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import jobs

ROOT = Path(__file__).resolve().parent.parent.parent

CASES = []
EVERY = False  # try all of what is usually sampled
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_CHILD_SUBREAPER, CLONE_NEWNS, MS_REC_PRIVATE = 36, 0x20000, 0x4000 | 1 << 18
LEAVE_S = 60  # what a run started has so long to go after it


class Skipped(Exception):
    """Why a case cannot be tried here."""


class Case:
    def __init__(self, function, quick, limit, needs, name):
        self.function, self.quick, self.limit, self.needs = function, quick, limit, needs
        self.name = (name or function.__name__).replace("_", " ")
        self.holds = " ".join((function.__doc__ or "").split())
        assert self.holds, f"{self.name} does not say what must hold"


def case(function=None, *, quick=False, limit=1200, needs=(jobs.taught,), name=None):
    """Registers a function of the case's folder, whose words say what must hold. It returns if that held, with what is to be said
    of it if anything is, else it raises. `needs`: what is made once for all cases, before the first."""
    def register(function):
        CASES.append(Case(function, quick, limit, needs, name))
        return function
    return register(function) if function else register


def expect(condition, text=""):
    if not condition:
        raise AssertionError(text)


def extend(seconds):
    """From now on the case may take so long, several times as long under a sanitizer."""
    signal.alarm(seconds * jobs.patient())


# ------------------------------------------------------------------------------------------------------------------ processes

def children(pid):
    """Processes below it: pid → name; none that has ended."""
    found, parents = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                parents[int(entry.name)] = (int(rest.split()[1]), name, rest.split()[0])
            except (OSError, IndexError):
                pass
    for one in parents:
        above = one
        while above in parents and parents[above][0] != pid:
            above = parents[above][0]
        if above in parents and parents[one][2] != "Z":
            found[one] = parents[one][1]
    return found


def end_children():
    """Ends whatever runs below this process; returns what that was after some patience."""
    left, until = children(os.getpid()), time.monotonic() + LEAVE_S
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left = children(os.getpid())
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return left


def attempt(one, folder):
    """In the case's process. (state, why)."""
    def overdue(*_):
        raise TimeoutError(f"took longer than {limit} s")

    limit = one.limit * jobs.patient()
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(limit)
    state, why = "ok", ""
    try:
        why = one.function(folder) or ""
    except Skipped as reason:
        return "skipped", str(reason)
    except BaseException as error:  # whatever it was, the case says so and the others go on
        at = traceback.extract_tb(error.__traceback__)
        places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in at if "fault_cases" in frame.filename]
        state, why = "broken", f"{type(error).__name__}: {error}\nat {', '.join(places[1:])}"
    signal.alarm(0)
    for helper in HELPERS:
        helper.kill()
    left = end_children()
    if left and state == "ok":
        state, why = "broken", f"left behind: {left}"
    litter = [path.name for path in (folder / "tmp").iterdir() if not path.name.endswith(".lock")]
    if litter and state == "ok":
        state, why = "broken", f"left in TMPDIR: {litter}"
    return state, why


HELPERS = []  # of this case: programs of its own that end with it


def start_case(one, number):
    folder = jobs.WORK / f"case_{number}"
    (folder / "tmp").mkdir(parents=True)
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # processes without parents come to this one
        if LIBC.unshare(CLONE_NEWNS) == 0:  # mounts go with it
            LIBC.mount(b"none", b"/", None, MS_REC_PRIVATE, None)
        jobs.WORK = folder
        os.environ.update(TMPDIR=str(folder / "tmp"), HOME=str(folder / "home"))
        (folder / "home").mkdir()
        tempfile.tempdir = None
        (folder / "result.json").write_text(json.dumps(attempt(one, folder)))
        code = 0
    finally:
        os._exit(code)


def result_of(number, started):
    file = jobs.WORK / f"case_{number}/result.json"
    state, why = json.loads(file.read_text()) if file.exists() else ("broken", "its process ended")
    return state, time.monotonic() - started, why


def run_all(chosen, build, at_a_time, say):
    """Results in the order of `chosen`: (state, seconds, why)."""
    jobs.BUILD, jobs.WORK = build, Path(tempfile.mkdtemp(prefix="temper_faults_"))
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    running, results = {}, {}
    try:
        for need in dict.fromkeys(need for one in chosen for need in one.needs):
            need()
        waiting = list(enumerate(chosen))
        while waiting or running:
            while waiting and len(running) < at_a_time:
                number, one = waiting.pop(0)
                running[start_case(one, number)] = (number, one, time.monotonic())
            pid, _ = os.wait()
            if pid not in running:
                continue
            number, one, started = running.pop(pid)
            results[number] = result_of(number, started)
            say(one, results[number])
            shutil.rmtree(jobs.WORK / f"case_{number}", ignore_errors=True)
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        end_children()
        shutil.rmtree(jobs.WORK, ignore_errors=True)
    return [results[number] for number in range(len(chosen))]
