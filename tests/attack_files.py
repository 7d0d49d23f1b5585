"""Files that strangers wrote to do harm, each given to the program that reads it: python3 tests/attack_files.py build/temper [PATTERN]

Each case (tests/attack_cases) makes its files anew, runs one command and knows the right answer: an exit code and words of the
message. A command may take so many seconds of processor time and so much memory more than the same command takes with good
files: what its libraries hold differs between machines. What the safetensors crate refuses, where it is installed, must be refused as well.

The seconds are those of a machine that has nothing else to do, and `--times 1` holds every case to them. A test must pass on
slow and busy machines, too: by default a case may take five times its seconds, which work that grows faster than its file
still passes by far.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from attack_cases import CASES
from attack_cases.case import ADMIT, DRY_RUN, EXPORT, PROBLEMS, TOKENIZE
from attack_cases.good_files import Folder
from patience import sanitized

ROOT = Path(__file__).resolve().parent.parent
MORE_MEBIBYTES = 400
# A program that sanitizers watch takes many times as long, and its memory says nothing. A header of 10^6 names takes 9 times
# as long under the address sanitizer and 22 times under the thread sanitizer.
SANITIZED_TIMES = 25
PATIENCE = 600  # seconds of the wall's clock, of which a busy machine gives few
LONGEST_MESSAGE = 4000  # bytes that a command may print about a bad file


class Result:
    def __init__(self, code, text, seconds, mebibytes):
        self.code, self.text, self.seconds, self.mebibytes = code, text, seconds, mebibytes


class Starter:
    """Starts commands from a small process of its own: Linux counts a parent's memory as its child's largest."""

    SAYS = '''
import json, os, signal, subprocess, sys, threading
for line in sys.stdin:
    asked = json.loads(line)
    with open(asked["output"], "wb") as output:
        process = subprocess.Popen(asked["words"], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **asked["more"]})
    print(process.pid, flush=True)
    clock = threading.Timer(asked["patience"], os.kill, (process.pid, signal.SIGKILL))
    clock.start()
    _, status, used = os.wait4(process.pid, 0)
    clock.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    print(json.dumps([process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]), flush=True)
'''

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.SAYS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=ROOT)

    def run(self, words, output, during=None, patience=PATIENCE, **more):
        """Seconds of processor time: other work on the machine does not count. `more`: of its environment."""
        asked = {"words": [str(word) for word in words], "output": str(output), "patience": patience, "more": more}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        if during:
            during(pid)
        code, seconds, mebibytes = json.loads(self.process.stdout.readline())
        with open(output, "rb") as printed:
            text = printed.read(1_000_000).decode(errors="replace")
        return Result(code, text, seconds, mebibytes)

    def end(self):
        self.process.kill()
        self.process.communicate()


class Starters:
    """One for each thread that asks."""

    def __init__(self):
        self.own, self.all = threading.local(), []

    def run(self, *arguments, **more):
        if not hasattr(self.own, "starter"):
            self.own.starter = Starter()
            self.all.append(self.own.starter)
        return self.own.starter.run(*arguments, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.all:
            one.end()


class Peer:
    """The safetensors crate, in a process of its own."""

    SAYS = '''
import sys
try:
    from safetensors import deserialize
except ImportError:
    sys.exit()
for line in sys.stdin:
    try:
        with open(line.rstrip("\\n"), "rb") as file:
            deserialize(file.read())
        print("", flush=True)
    except Exception as problem:
        print(ascii(problem), flush=True)
'''

    def __init__(self):
        python = ROOT / ".deps/venv/bin/python3"
        self.lock, self.asked, self.refused = threading.Lock(), 0, 0
        self.process = subprocess.Popen([python if python.exists() else sys.executable, "-c", self.SAYS], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def why_not(self, path):
        """Why it refuses the file; nothing where it takes it, or is not installed."""
        with self.lock:
            try:
                self.process.stdin.write(f"{path}\n")
                self.process.stdin.flush()
                said = self.process.stdout.readline()
            except BrokenPipeError:
                said = ""
            self.asked += said != ""
            self.refused += said.strip() != ""
            return said.strip()

    def end(self):
        self.process.kill()
        self.process.communicate()


def words_for(command, folder):
    return [word.replace("DIR", str(folder.path)).replace("OUT", str(folder.path) + "_out") for word in command]


def problems_of(one, result, usual, times, watched):
    found = []
    if result.code not in (one.code if isinstance(one.code, tuple) else (one.code,)):
        found.append(f"exit {result.code}, not {one.code}")
    if not re.search(one.words, result.text):
        found.append(f"does not say /{one.words}/")
    if result.seconds > usual.seconds + one.seconds * times * (SANITIZED_TIMES if watched else 1):
        found.append(f"{result.seconds - usual.seconds:.1f} s more than good files")
    if result.mebibytes > usual.mebibytes + MORE_MEBIBYTES and not watched:
        found.append(f"{result.mebibytes - usual.mebibytes:.0f} MiB more than good files")
    if one.code != 0 and len(result.text) > LONGEST_MESSAGE:
        found.append(f"{len(result.text)} bytes of message")
    if one.code != 0 and re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", result.text):
        found.append("prints what a terminal obeys")
    return found


def usual_cost(temper, work, starters):
    """What each command takes with a file that is refused at once, or with good ones."""
    costs = {}
    for command in (EXPORT, TOKENIZE, ADMIT, PROBLEMS, DRY_RUN):
        folder = Folder(work / f"good{len(costs)}")
        folder.write("tasks.yaml", "name: 3\n")
        folder.write("data.jsonl", "{}\n")
        folder.write("problems.jsonl", "{}\n")
        tries = [starters.run([temper, *words_for(command, folder)], work / "printed") for _ in range(2)]
        shutil.rmtree(str(folder.path) + "_out", ignore_errors=True)
        costs[tuple(command)] = min(tries, key=lambda one: one.seconds)
    return costs


def preloaded(one, folder):
    """What the environment says to load."""
    if not one.preloaded:
        return {}
    source, library = folder.path.parent / "preloaded.c", folder.path.parent / "preloaded.so"
    source.write_text("#define _GNU_SOURCE\n" + one.preloaded)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", source, "-o", library, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library)}


def attempt(temper, work, one, usual, starters, times=1.0, peer=None, watched=False):
    """Makes the files, runs the command, and removes them. Returns the result and what is wrong with it."""
    folder = Folder(Path(tempfile.mkdtemp(dir=work)) / "case")
    try:
        one.make(folder)
        during = (lambda pid: one.during(pid, folder)) if one.during else None
        result = starters.run([temper, *words_for(one.command, folder)], folder.path.parent / "printed", during,
                              PATIENCE * (SANITIZED_TIMES if watched else 1), **preloaded(one, folder))
        problems = problems_of(one, result, usual, times, watched)
        refused = peer.why_not(folder.path / "model.safetensors") if peer and one.name.startswith("header: ") else ""
        if refused and result.code == 0:
            problems.append(f"the safetensors crate refuses it: {refused[:200]}")
        return result, problems
    finally:
        shutil.rmtree(folder.path.parent, ignore_errors=True)


def main():
    options = argparse.ArgumentParser(description="Gives files that strangers wrote to do harm to the program.")
    options.add_argument("temper", type=os.path.abspath, help="the program, such as build/temper")
    options.add_argument("pattern", nargs="?", default="", help="only cases whose name this regular expression is found in")
    options.add_argument("--times", type=float, default=5, help="how many times its seconds a case may take (default 5)")
    options.add_argument("--table", action="store_true", help="print what each case took")
    asked = options.parse_args()
    temper, chosen = asked.temper, [one for one in CASES if re.search(asked.pattern, one.name)]
    work = Path(tempfile.mkdtemp(prefix="temper_attack_"))
    wrong, slowest, largest, peer = [], 0.0, 0.0, Peer()
    try:
        with Starters() as starters, concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 2) // 2)) as pool:
            usual = usual_cost(temper, work, starters)
            if asked.table:
                print(f"{'seconds':>7} {'MiB':>5} {'exit':>4}  case")
            costs = [usual[tuple(one.command)] for one in chosen]
            watched = sanitized(temper)
            attempts = pool.map(lambda one, cost: attempt(temper, work, one, cost, starters, asked.times, peer, watched),
                                chosen, costs)
            for one, cost, (result, found) in zip(chosen, costs, attempts):
                slowest, largest = max(slowest, result.seconds - cost.seconds), max(largest, result.mebibytes - cost.mebibytes)
                if asked.table:
                    print(f"{result.seconds:7.2f} {result.mebibytes:5.0f} {result.code:4}  {one.name}", flush=True)
                if found:
                    wrong.append(f"WRONG: {one.name}: {'; '.join(found)}; said {result.text[:300]!r}")
    finally:
        peer.end()
        shutil.rmtree(work, ignore_errors=True)
    for text in wrong:
        print(text)
    print(f"the safetensors crate looked at {peer.asked} of them and refused {peer.refused}")
    print(f"{len(chosen)} files, {len(wrong)} answered wrongly; at most {slowest:.2f} s and {largest:.0f} MiB "
          "more than with good files")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
