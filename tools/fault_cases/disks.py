"""Disks that are full, read-only or gone, under each of the things that a run writes."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time

import jobs
from patience import PATIENCE_S

from .harness import LIBC, Skipped, case, expect
from .runs import Disk, ended, goes_on, lines_of, popen, start, start_cold, steps_taken, task_and_candidate, temper, wait_for_step

MS_BIND = 0x1000


@case(quick=True)
def disk_full_in_the_middle_of_a_run(folder):
    """The run ends with 3 and the words of the disk, and once there is room the same command goes on."""
    disk = Disk(folder / "disk", "90m")
    run = start(disk.path / "run", "run.steps=4000")
    wait_for_step(disk.path / "run", 3, run)
    disk.fill()
    ended(run, 3, said="No space left on device")
    disk.free()
    goes_on(disk.path / "run")


@case(quick=True)
def disk_too_small_from_the_beginning(folder):
    """The start is refused with 3, what is needed and what is free, and leaves nothing."""
    disk = Disk(folder / "disk", "16m")
    ended(start(disk.path / "run"), 3, said=("needs about", "make room or choose another run.dir"))
    expect(not (disk.path / "run").exists(), "left behind")


@case(quick=True)
def read_only_disk_at_the_start(folder):
    """The start is refused with 3 and what to do."""
    disk = Disk(folder / "disk", "90m")
    disk.remount("ro")
    ended(start(disk.path / "run"), 3, said="choose a run.dir that can be written")


@case
def disk_that_becomes_read_only(folder):
    """The run ends with 3 and the file that it could not write, and goes on where it can write again."""
    disk = Disk(folder / "disk", "90m")
    run = start(disk.path / "run", "run.steps=4000")
    wait_for_step(disk.path / "run", 3, run)
    deadline = 50
    while deadline:  # a file that is open for writing keeps the mount as it is
        if subprocess.run(["mount", "-o", "remount,ro", disk.path], capture_output=True).returncode == 0:
            break
        deadline -= 1
    else:
        run[0].kill()
        run[0].communicate()
        raise Skipped("the mount stays writable while a run has files open")
    ended(run, 3, said="Read-only file system")
    disk.remount("rw")
    goes_on(disk.path / "run")


def full_under(part, words=(), code=3):
    @case(name=f"disk full under {part}")
    def _(folder):
        """The run ends with 3 and names the file, and once there is room the same command goes on, with no step missing."""
        ended(start(folder / "run", TEMPER_FAULT="update:interrupt@3"), 130)
        place = folder / "run" / part
        content = folder / "content"
        shutil.copytree(place, content)
        disk = Disk(place, "40m")
        shutil.copytree(content, place, dirs_exist_ok=True)
        disk.fill()
        ended(start(folder / "run", "run.steps=9", *words), code, said=("No space left on device", part))
        disk.free()
        goes_on(folder / "run")


full_under("trajectories")
full_under("verdicts")


@case
def disk_full_under_the_metrics(folder):
    """The run ends with 3 and names metrics.jsonl, and once there is room goes on with every line whole."""
    ended(start(folder / "run", TEMPER_FAULT="update:interrupt@3"), 130)
    disk, metrics = Disk(folder / "disk", "8m"), folder / "run/metrics.jsonl"
    shutil.copy(metrics, disk.path / "metrics.jsonl")
    if LIBC.mount(os.fsencode(disk.path / "metrics.jsonl"), os.fsencode(metrics), None, MS_BIND, None) != 0:
        raise Skipped("no mount here")
    disk.fill()
    ended(start(folder / "run", "run.steps=9"), 3, said=("No space left on device", "metrics.jsonl"))
    disk.free()
    goes_on(folder / "run")


@case
def disk_full_under_the_log(folder):
    """Training goes on to its end and says once that the log is not whole."""
    ended(start(folder / "run", TEMPER_FAULT="update:interrupt@3"), 130)
    disk = Disk(folder / "run/log", "1m")
    disk.fill()
    text = goes_on(folder / "run")
    expect(text.count("WARNING: the log is not whole") == 1, text)


@case
def disk_full_under_the_checkpoints(folder):
    """Each save that fails is said and counted, training goes on, and the last checkpoint before it stays."""
    ended(start(folder / "run", TEMPER_FAULT="update:interrupt@3"), 130)
    kept = sorted(path.name for path in (folder / "run/checkpoints").glob("step_*"))
    place = folder / "run/checkpoints"
    shutil.copytree(place, folder / "content")
    disk = Disk(place, "60m")
    shutil.copytree(folder / "content", place, dirs_exist_ok=True)
    run = start(folder / "run", "run.steps=4000")
    wait_for_step(folder / "run", 5, run)
    disk.fill()
    wait_for_step(folder / "run", max(int(path.name[5:11]) for path in (folder / "run/trajectories").glob("step_*")) + 6, run)
    run[0].send_signal(signal.SIGTERM)
    text = run[0].communicate(timeout=30)[0]
    expect(run[0].returncode in (3, 130), f"{run[0].returncode} {text}")
    expect("was not saved" in text and "No space left on device" in text, text)
    expect(any(line.get("checkpoint/failed", 0) > 0 for line in lines_of(folder / "run")), "nothing counted")
    expect(any((place / name / "manifest.json").exists() for name in os.listdir(place)), f"{kept} are gone")
    disk.free()
    goes_on(folder / "run")


@case(needs=())
def disk_full_under_the_cache(folder):
    """A verdict that cannot be kept is an error of the machine's (3) that names the cache; nothing is said to be kept."""
    (task, candidate), disk = task_and_candidate(), Disk(folder / "disk", "1m")
    words = ["judge", task, candidate, "tasks.path=tests/gallery/tasks.yaml", f"env.cache={disk.path / 'verdicts.db'}"]
    disk.fill()
    temper(*words, code=3, said="verdicts.db")
    disk.free()
    temper(*words, code=0)


def failing_save(name, place):
    @case(name=name, quick=True)
    def _(folder):
        """The save is said and counted as failed, training goes on to its end, and nothing half stays."""
        text = ended(start(folder / "run", "run.steps=8", TEMPER_FAULT=place), 0)
        expect("WARNING: step_000004 was not saved" in text, text)
        expect(1 in [line.get("checkpoint/failed") for line in lines_of(folder / "run")], "not counted")
        expect(not list((folder / "run/checkpoints").glob("*.tmp")), "left behind")


failing_save("disk full for a checkpoint alone", "share:throw@2")
failing_save("no memory for a checkpoint's copy", "share copy:throw@2")


@case
def files_may_not_be_so_large(folder):
    """Under RLIMIT_FSIZE a checkpoint's share is refused by the system: said and counted like a full disk, not SIGXFSZ."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *jobs.TAUGHT,
                              "run.steps=4", "checkpoint.every=2")
    process = popen(*words[1:], preexec_fn=limit)
    text = process.communicate(timeout=60)[0]
    expect(process.returncode in (0, 3), f"{process.returncode} {text}")
    expect("File too large" in text or "File size limit exceeded" in text, text)


def to_a_full_device(name, *words, code=3):
    @case(name=f"standard output is full: {name}", needs=())
    def _(folder):
        """What was to be printed and could not be is an error: exit 3, and it is said."""
        with open("/dev/full", "w") as full:
            process = popen(*[str(word).replace("OUT", str(folder / "out")) for word in words], stdout=full, stderr=subprocess.PIPE)
            text = process.communicate(timeout=60)[1]
        expect(process.returncode == code, f"{process.returncode} {text}")
        expect("cannot write standard output: " in text, text)


JUDGE = [*task_and_candidate(), "tasks.path=tests/gallery/tasks.yaml"]
to_a_full_device("judge --json", "judge", *JUDGE, "--json")
to_a_full_device("train --help", "train", "--help")
to_a_full_device("judge --tasks", "judge", "--tasks")
to_a_full_device("train --dry-run", "train", "configs/quickstart.yaml", "--dry-run", "run.dir=OUT")


@case(quick=True)
def pipe_behind_the_output_unplugged(folder):
    """The run goes on to its end: who watched it may leave."""
    run = start(folder / "run", "run.steps=8")
    run[0].stdout.close()
    expect(run[0].wait(PATIENCE_S * jobs.patient()) == 0 and (folder / "run/finished.json").exists())


@case
def reader_that_never_reads(folder):
    """Output goes to a pipe that nobody empties: the lines wait, the run goes on, and one SIGTERM ends it within a step and 2 s."""
    run = start_cold(folder / "run", "run.steps=100000")
    LIBC.fcntl(run[0].stdout.fileno(), 1031, 4096)  # F_SETPIPE_SZ: one page
    deadline = time.monotonic() + 60
    while len(steps_taken(folder / "run")) < 40 and time.monotonic() < deadline:
        time.sleep(0.2)
    expect(len(steps_taken(folder / "run")) >= 40, f"it stands after {len(steps_taken(folder / 'run'))} steps")
    run[0].send_signal(signal.SIGTERM)
    try:
        run[0].wait(4)
    except subprocess.TimeoutExpired:
        run[0].kill()
        raise AssertionError("it does not end")
    finally:
        run[0].stdout.close()


@case(needs=(jobs.model,))
def export_to_a_full_disk(folder):
    """Exit 3 with the file and the words of the disk, and no folder that looks whole."""
    disk = Disk(folder / "disk", "100k")
    temper("export", jobs.model(), disk.path / "out", code=3, said="No space left on device")
    expect(not (disk.path / "out").exists(), json.dumps([str(path) for path in disk.path.rglob("*")]))
