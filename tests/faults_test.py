"""Breaks things around the built program and prints what happened: python3 tests/faults_test.py build [--all]

Without --all the quick ones. Each row: what was injected, what happened, exit codes, after how long.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ranks_test
import resume_test
from ranks_test import start_temper, wait_all

ROWS, FAULTS = [], []


class Skip(Exception):
    pass


def fault(what, quick=True):
    """Registers a fault: a function of the run's directory that returns (what happened, exit codes, seconds)."""
    def register(function):
        FAULTS.append((what, quick, function))
        return function
    return register


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def start(directory, *words, count=1, of_rank=lambda rank: {}):
    more = ["run.steps=40", "ranks.silence_s=3", "ranks.timeout_s=4"]
    return start_temper(count, f"run.dir={directory}", f"model.path={resume_test.taught()}", *resume_test.BASE,
                        *more, *words, of_rank=of_rank)


def wait_for_step(directory, step, processes, patience=60):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and processes[0].poll() is None:
        if (directory / f"trajectories/step_{step:06}.safetensors").exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"no step {step}: {wait_all(processes, 10).text}")


def children(pid):
    """Processes below it: pid → name."""
    found, parents = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                parents[int(entry.name)] = (int(rest.split()[1]), name)
            except OSError:
                pass
    for one in parents:
        above = one
        while above in parents:
            above = parents[above][0]
            if above == pid:
                found[one] = parents[one][1]
    return found


def goes_on(directory, *words, steps=6, said=("goes on after step", "begins again")):
    """The next start takes the run to its end."""
    done = wait_all(start(directory, f"run.steps={steps}", *words))
    found = [line for line in done.text.splitlines() if any(text in line for text in said)]
    expect(done.codes == [0] and found, done.text)
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    taken = [line["step"] for line in lines if "actor/pg_loss" in line]
    expect(taken == list(range(1, taken[-1] + 1)) and taken[-1] >= steps, f"steps {taken}")
    return found[0]


def ended(processes, *codes, said="", timeout=60, since=None):
    since = since or time.monotonic()
    done = wait_all(processes, timeout)
    seconds = time.monotonic() - since
    expect(done.codes == list(codes), f"{done.codes}\n{done.text}")
    expect(said in done.text, done.text)
    line = next((line for line in done.text.splitlines() if said and said in line), "")
    return line, done.codes, seconds


def since_last_line(directory):
    """Of the log, which ends with the last step before the fault."""
    return time.time() - max(path.stat().st_mtime for path in (directory / "log").iterdir())


def then_on(result, directory, *words, **more):
    what, codes, seconds = result
    went = goes_on(directory, *words, steps=resume_steps(directory), **more)
    return f"{what + '; ' if what else ''}then: {went.split(', from')[0]}", codes, seconds


def resume_steps(directory):
    return max([int(p.name[5:11]) for p in (directory / "trajectories").glob("step_*")] or [0]) + 2


# --- processes

def killed_in(place):
    def inject(directory):
        first = start(directory, of_rank=lambda rank: {"TEMPER_FAULT": place})
        _, codes, _ = ended(first, -9)
        return then_on(("", codes, since_last_line(directory)), directory)
    return inject


for name, place in (("a rollout", "rollout:kill@5"), ("judging", "judging:kill@5"), ("an update", "update:kill@5"),
                    ("the record of a step", "save:kill@6"), ("the background save", "share:kill@2")):
    fault(f"run killed in {name}", name != "the record of a step")(killed_in(place))


def kill_child(name, sent=signal.SIGKILL):
    def inject(directory):
        run = start(directory, "run.steps=12")
        wait_for_step(directory, 2, run)
        deadline = time.monotonic() + 30
        killed = 0
        while not killed and time.monotonic() < deadline and run[0].poll() is None:
            for pid, its in children(run[0].pid).items():
                if its == name[:15]:
                    os.kill(pid, sent)
                    killed += 1
                    break
        expect(killed, f"no {name} seen")
        _, codes, seconds = ended(run, 0, timeout=200)
        restarted = "run went on to its end"
        return restarted, codes, seconds
    return inject


fault("judge process (broker) killed")(kill_child("temper-broker"))
fault("judge process (oracle) killed")(kill_child("temper-oracle"))
fault("candidate's process (runner) killed", False)(kill_child("temper-runner"))
fault("judge process (broker) stopped", False)(kill_child("temper-broker", signal.SIGSTOP))


@fault("Ctrl-C")
def _(directory):
    run = start(directory)
    wait_for_step(directory, 3, run)
    since = time.monotonic()
    run[0].send_signal(signal.SIGINT)
    return then_on(ended(run, 130, said="interrupted after step", since=since), directory)


@fault("Ctrl-C twice, in a rollout that takes long")
def _(directory):
    run = start(directory, of_rank=lambda rank: {"TEMPER_FAULT": "rollout:hang@4"})
    wait_for_step(directory, 3, run)
    time.sleep(0.3)
    run[0].send_signal(signal.SIGINT)
    time.sleep(0.2)
    since = time.monotonic()
    run[0].send_signal(signal.SIGINT)
    return then_on(ended(run, 130, since=since), directory)


# --- ranks

def rank_fault(kind, code, said, rank=1, timeout=60):
    def inject(directory):
        run = start(directory, count=2, of_rank=lambda r: {"TEMPER_FAULT": kind} if r == rank else {})
        done = wait_all(run, timeout)
        expect(done.codes[1 - rank] == code and said in done.text, f"{done.codes}\n{done.text}")
        line = next(line for line in done.text.splitlines() if said in line)
        return then_on((line.split(") ", 1)[1], done.codes, since_last_line(directory)), directory)
    return inject


fault("rank 1 of 2 killed in an update")(rank_fault("update:kill@3", 3, "was killed or crashed in update"))
fault("rank 0 of 2 killed in a rollout", False)(rank_fault("rollout:kill@4", 3, "was killed or crashed in rollout", 0))
fault("rank 1 of 2 hangs before a collective", False)(rank_fault("weights:hang@3", 3, "hangs in update"))
fault("rank 1 of 2 stopped (SIGSTOP)", False)(rank_fault("update:stop@3", 3, "has given no sign of life"))
fault("peer gone in the gradients' exchange", False)(
    rank_fault("gradients:kill@3", 3, "was killed or crashed in update"))


@fault("rank 1 of 2 cannot write its share", False)
def _(directory):
    run = start(directory, "run.steps=8", count=2,
                of_rank=lambda rank: {"TEMPER_FAULT": "share:throw@2"} if rank else {})
    line, codes, seconds = ended(run, 0, 0, said="WARNING: step_000004 was not saved: this failure")
    return line, codes, seconds


@fault("MPI peer killed", False)
def _(directory):
    if not ranks_test.have_mpi():
        raise Skip("no Open MPI")
    words = ranks_test.temper_words(f"run.dir={directory}", f"model.path={resume_test.taught()}", *resume_test.BASE,
                                    "run.steps=40", "ranks.silence_s=3")
    since = time.monotonic()
    done = ranks_test.run_mpi(1, *words, ":", "-np", 1, "-x", "TEMPER_FAULT=update:kill@3", *words, timeout=60)
    expect("was killed or crashed in update" in done.text and done.codes[0] != 0, done.text)
    return then_on(("was killed or crashed in update; all ranks end", done.codes, time.monotonic() - since), directory)


# --- disks

class Disk:
    """A small file system of its own."""

    def __init__(self, directory, size):
        self.path = directory
        directory.mkdir(parents=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", directory], capture_output=True)
        if done.returncode != 0:
            raise Skip("no mount here")

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.path], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path])


@fault("disk full in the middle of a run")
def _(directory):
    with Disk(directory, "90m") as disk:
        run = start(disk.path / "run", "run.steps=4000")
        wait_for_step(disk.path / "run", 3, run)
        since = time.monotonic()
        with open(disk.path / "filler", "wb") as filler:
            try:
                while True:
                    filler.write(b"x" * 65536)
                    filler.flush()
            except OSError:
                pass
        line, codes, seconds = ended(run, 3, said="No space left on device", since=since)
        (disk.path / "filler").unlink()
        return then_on((line.replace(str(disk.path), "…")[-90:], codes, seconds), disk.path / "run")


@fault("disk full for a checkpoint alone")
def _(directory):
    run = start(directory, "run.steps=8", of_rank=lambda rank: {"TEMPER_FAULT": "share:throw@2"})
    line, codes, seconds = ended(run, 0, said="WARNING: step_000004 was not saved")
    failed = [json.loads(line).get("checkpoint/failed") for line in (directory / "metrics.jsonl").read_text().splitlines()]
    expect(1 in failed, failed)
    expect(not list((directory / "checkpoints").glob("*.tmp")), "left behind")
    return line.split(": this")[0] + ", counted; training went on", codes, seconds


@fault("no memory for a checkpoint's copy")
def _(directory):
    run = start(directory, "run.steps=8", of_rank=lambda rank: {"TEMPER_FAULT": "share copy:throw@2"})
    line, codes, seconds = ended(run, 0, said="WARNING: step_000004 was not saved")
    failed = [json.loads(line).get("checkpoint/failed") for line in (directory / "metrics.jsonl").read_text().splitlines()]
    expect(1 in failed, failed)
    return line.split(": this")[0] + ", counted; training went on", codes, seconds


@fault("disk too small from the beginning")
def _(directory):
    with Disk(directory, "16m") as disk:
        line, codes, seconds = ended(start(disk.path / "run"), 3, said="make room or choose another run.dir")
        expect(not (disk.path / "run").exists(), "left behind")
        return "refused: needs about " + line.split("needs about ")[1], codes, seconds


@fault("read-only directory at the start")
def _(directory):
    with Disk(directory, "90m") as disk:
        disk.remount("ro")
        _, codes, seconds = ended(start(disk.path / "run"), 3, said="choose a run.dir that can be written")
        return "refused: choose a run.dir that can be written", codes, seconds


@fault("folder deleted in the middle of a run", False)
def _(directory):
    run = start(directory, "run.steps=4000")
    wait_for_step(directory, 3, run)
    since = time.monotonic()
    shutil.rmtree(directory / "trajectories")
    line, codes, seconds = ended(run, 3, said="No such file or directory", since=since)
    steps = max(json.loads(line)["step"] for line in (directory / "metrics.jsonl").read_text().splitlines())
    went = goes_on(directory, steps=steps + 2)
    return "cannot open …/trajectories/…: No such file or directory; then: " + went.split(", from")[0], codes, seconds


# --- files

def damaged(change, said):
    def inject(directory):
        ended(start(directory, of_rank=lambda rank: {"TEMPER_FAULT": "update:interrupt@4"}), 130)
        newest = directory / "checkpoints/step_000004"
        expect(newest.exists(), "no step_000004")
        change(newest)
        since = time.monotonic()
        line = goes_on(directory, said=("checkpoint step_000004 is not used",))
        expect(said in line, line)
        return line.split("not used: ")[1] + "; step_000002 used", [0], time.monotonic() - since
    return inject


def rewrite(name, change):
    def apply(folder):
        data = bytearray((folder / name).read_bytes())
        (folder / name).write_bytes(change(data))
    return apply


def flip(data):
    data[len(data) // 2] ^= 4
    return data


SHARE = "rank_00000.safetensors"
fault("flipped bit in a share")(damaged(rewrite(SHARE, flip), "damaged"))
fault("truncated share")(damaged(rewrite(SHARE, lambda d: d[:-100]), "its manifest says"))
fault("share gone", False)(damaged(lambda folder: (folder / SHARE).unlink(), "No such file"))
fault("edited manifest", False)(damaged(rewrite("manifest.json", lambda d: d.replace(b'"step": 4', b'"step": 9')), "was changed"))
fault("half a manifest", False)(damaged(rewrite("manifest.json", lambda d: d[:500]), "is not whole"))
fault("checkpoint of another version", False)(
    damaged(rewrite("manifest.json", lambda d: d.replace(b'"version": 1', b'"version": 7')), "format version 7"))


@fault("half a line at the end of metrics.jsonl")
def _(directory):
    ended(start(directory, of_rank=lambda rank: {"TEMPER_FAULT": "rollout:kill@6"}), -9)
    with open(directory / "metrics.jsonl", "a") as file:
        file.write('{"actor/entropy": 0.')
    return then_on(("", [-9], float("nan")), directory)


@fault("changed config")
def _(directory):
    ended(start(directory, of_rank=lambda rank: {"TEMPER_FAULT": "rollout:kill@4"}), -9)
    line, codes, seconds = ended(start(directory, "optimizer.lr=1"), 2, said="it is of another config: optimizer.lr is 1,")
    return "refused: " + line.split("step_000002: ")[1], codes, seconds


@fault("directory in use")
def _(directory):
    run = start(directory, "run.steps=4000")
    try:
        wait_for_step(directory, 1, run)
        line, codes, seconds = ended(start(directory), 2, said="is in use by another process: pid")
        return "refused: " + line.split("run ")[-1], codes, seconds
    finally:
        run[0].kill()
        run[0].communicate()


# --- numbers, clocks, pipes

@fault("weights that are not finite (learning rate 1e30)")
def _(directory):
    run = start(directory, "run.steps=4", "optimizer.lr=1e30")
    since = time.monotonic()
    done = wait_all(run, 60)
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()] if (directory / "metrics.jsonl").exists() else []
    skipped = sum(line.get("actor/skipped_updates", 0) for line in lines)
    expect(done.codes == [0] and skipped > 0, f"{done.codes} {skipped}\n{done.text}")
    return f"{skipped:.0f} updates skipped and counted", done.codes, time.monotonic() - since


@fault("clock jumps by a year, both ways", False)
def _(directory):
    directory.parent.mkdir(parents=True, exist_ok=True)
    source, library = directory.parent / "clock.c", directory.parent / "clock.so"
    source.write_text("""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* time) {
  static long calls;
  long done = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += (++calls % 3 - 1) * 31536000L;
  return (int)done;
}
""")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
    run = start(directory, "run.steps=6", of_rank=lambda rank: {"LD_PRELOAD": str(library)})
    _, codes, seconds = ended(run, 0)
    return "run went on to its end", codes, seconds


@fault("pipe behind the terminal's output unplugged")
def _(directory):
    run = start(directory, "run.steps=8")
    run[0].stdout.close()
    since = time.monotonic()
    code = run[0].wait(60)
    expect(code == 0 and (directory / "finished.json").exists(), str(code))
    return "run went on to its end", [code], time.monotonic() - since


@fault("no compiler", False)
def _(directory):
    run = start(directory, of_rank=lambda rank: {"PATH": "/nowhere", "CXX": ""})
    done = wait_all(run, 60)
    expect(done.codes in ([3], [0]), done.text)
    return ("refused: " + done.text.strip().splitlines()[-1]) if done.codes == [3] else "found by its absolute path", done.codes, float("nan")


def table():
    print(f"\n{'injected':<48} {'exit':<10} {'after':>7}  what happened")
    for what, happened, codes, seconds in ROWS:
        after = f"{seconds:6.1f}s" if seconds == seconds else "      –"
        print(f"{what:<48} {', '.join(map(str, codes)):<10} {after}  {happened[:150]}")


def main():
    every = "--all" in sys.argv
    failed = 0
    only = [word for word in sys.argv[2:] if not word.startswith("--")]
    for number, (what, quick, inject) in enumerate(FAULTS):
        if only and not any(word in what for word in only) or not only and not (quick or every):
            continue
        directory = ranks_test.WORK / f"fault_{number}" / "run"
        try:
            happened, codes, seconds = inject(directory)
        except Skip as why:
            happened, codes, seconds = f"skipped: {why}", [], float("nan")
        except Exception as error:
            failed += 1
            happened, codes, seconds = "UNEXPECTED", [], float("nan")
            print(f"{what}: {type(error).__name__}: {error}", flush=True)
        ROWS.append((what, happened, codes, seconds))
        print(f"{'FAILED' if happened == 'UNEXPECTED' else 'ok':<7}{what}", flush=True)
    table()
    print(f"\n{len(ROWS)} faults, {failed} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    ranks_test.BUILD = Path(sys.argv[1]).resolve()
    ranks_test.WORK = Path(tempfile.mkdtemp(prefix="temper_faults_"))
    try:
        code = main()
    finally:
        shutil.rmtree(ranks_test.WORK, ignore_errors=True)
    sys.exit(code)
