"""What lies in a run's directory was damaged, edited or is somebody else's."""

import os
import shutil
import sqlite3
import subprocess

import jobs

from .harness import case, expect
from .runs import ended, goes_on, need_root, popen, start, steps_taken, task_and_candidate, temper, wait_for_step

SHARE = "rank_00000.safetensors"


def damaged(name, file, change, reason, quick=False):
    @case(name=name, quick=quick)
    def _(folder):
        """The checkpoint is refused, with the file and the reason, and the one before it is used."""
        ended(start(folder / "run", TEMPER_FAULT="update:interrupt@4"), 130)
        path = folder / "run/checkpoints/step_000004" / file
        data = change(bytearray(path.read_bytes()))
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        text = goes_on(folder / "run", said=("checkpoint step_000004 is not used",))
        expect(reason in text, text)
        expect("resumes after step 2" in text, text)


def flip(data):
    data[len(data) // 2] ^= 4
    return data


damaged("flipped bit in a share", SHARE, flip, "damaged", quick=True)
damaged("truncated share", SHARE, lambda data: data[:-100], "its manifest says", quick=True)
damaged("share gone", SHARE, lambda data: None, "No such file")
damaged("edited manifest", "manifest.json", lambda data: data.replace(b'"step": 4', b'"step": 9'), "was changed")
damaged("half a manifest", "manifest.json", lambda data: data[:500], "is not whole")
damaged("empty manifest", "manifest.json", lambda data: b"", "is not whole")
damaged("manifest of closed brackets", "manifest.json", lambda data: b"[" * 200_000 + b"]" * 200_000, "step_000004 is not used")
damaged("checkpoint of another version", "manifest.json", lambda data: data.replace(b'"version": 1', b'"version": 7'),
        "format version 7")
damaged("share that is a hole", SHARE, lambda data: bytes(len(data)), "damaged")


@case
def all_checkpoints_damaged(folder):
    """The start is refused with 2, the reasons and the ways out, and nothing in the directory changes."""
    ended(start(folder / "run", TEMPER_FAULT="update:interrupt@4"), 130)
    for path in (folder / "run/checkpoints").glob("step_*/manifest.json"):
        path.write_bytes(path.read_bytes()[:99])
    before = sorted(str(path) for path in (folder / "run").rglob("*"))
    ended(start(folder / "run"), 2, said=("has no checkpoint to resume from", "run.overwrite=true"))
    expect(sorted(str(path) for path in (folder / "run").rglob("*")) == before, "something changed")


@case
def damaged_line_in_the_journal(folder):
    """A line in the middle that is no verdict is named with its file and number, with code 2; the file stays as it is."""
    ended(start(folder / "run", TEMPER_FAULT="rollout:kill@6"), -9)
    journal = folder / "run/verdicts/rank_0.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    lines[3] = '{"digest": "x", "verdict": {"kind": "PASS"}}'.ljust(len(lines[3]) - 1) + "\n"
    journal.write_text("".join(lines))
    text = journal.read_text()
    ended(start(folder / "run"), 2, said=("rank_0.jsonl: line 4 is not a verdict of this program",))
    expect(journal.read_text() == text, "the journal changed")


@case(needs=())
def damaged_cache(folder):
    """An SQLite cache with a page of noise, or cut off: exit 3 or 2 with its name, never a verdict that was not measured."""
    (task, candidate), cache = task_and_candidate(), folder / "verdicts.db"
    judge = ["judge", task, candidate, "tasks.path=tests/gallery/tasks.yaml", f"env.cache={cache}"]
    temper(*judge, code=0)
    good = cache.read_bytes()
    for damage in (good[:100] + os.urandom(len(good) - 100), good[:len(good) // 2], os.urandom(5000)):
        cache.write_bytes(damage)
        for more in folder.glob("verdicts.db-*"):
            more.unlink()
        done = temper(*judge, said="verdicts.db")
        expect(done.code in (2, 3), f"{done.code} {done.text}")


@case(needs=())
def somebody_elses_database(folder):
    """A database of another program, or lines of JSON, given as env.cache: exit 2, and not a byte of it changes."""
    task, candidate = task_and_candidate()
    for name, make in (("photos.db", lambda path: sqlite3.connect(path).executescript("CREATE TABLE photos (id); VACUUM;")),
                       ("verdicts.jsonl", lambda path: path.write_text('{"digest": "a"}\n')),
                       ("notes.txt", lambda path: path.write_text("my notes, which are longer than a header of SQLite" * 9))):
        make(folder / name)
        before = (folder / name).read_bytes()
        temper("judge", task, candidate, "tasks.path=tests/gallery/tasks.yaml", f"env.cache={folder / name}", code=2, said=name)
        expect((folder / name).read_bytes() == before, f"{name} changed")


@case(needs=())
def cache_shared_by_four_processes(folder):
    """Four that judge at the same time with one new cache all end well, and every verdict is in it whole."""
    candidates = sorted((jobs.ROOT / "tests/gallery/cpp").glob("add_*.cc"))[:4]
    plain = jobs.ROOT / "tests/gallery/cpp/add_plain.cc"
    words = ["tasks.path=tests/gallery/tasks.yaml", f"env.cache={folder / 'verdicts.db'}"]
    processes = [popen("judge", "add", path, *words) for path in candidates] + [popen("judge", "add", plain, *words)]
    for process in processes:
        text = process.communicate(timeout=60)[0]
        expect(process.returncode in (0, 1), f"{process.returncode} {text}")
    temper("judge", "add", plain, "--json", *words, code=0, said='"cached": true')
    with sqlite3.connect(folder / "verdicts.db") as database:
        expect(database.execute("PRAGMA integrity_check").fetchone() == ("ok",))
        expect(database.execute("SELECT count(*) FROM verdicts").fetchone()[0] >= 4)


@case(quick=True)
def changed_config(folder):
    """The start is refused with 2 and names the option with both values."""
    ended(start(folder / "run", TEMPER_FAULT="rollout:kill@4"), -9)
    ended(start(folder / "run", "optimizer.lr=1"), 2, said="it is of another config: optimizer.lr is 1,")


@case(quick=True)
def directory_in_use(folder):
    """A second start is refused with 2 and the pid of the first, which goes on."""
    run = start(folder / "run", "run.steps=4000")
    wait_for_step(folder / "run", 1, run)
    ended(start(folder / "run"), 2, said=f"is in use by another process: pid {run[0].pid}")
    ended(start(folder / "run", "run.overwrite=true"), 2, said=f"is in use by another process: pid {run[0].pid}")
    taken = len(steps_taken(folder / "run"))
    wait_for_step(folder / "run", taken + 2, run)
    run[0].kill()
    run[0].communicate()


@case
def two_starts_at_the_same_moment(folder):
    """Of several starts of one new run exactly one has it; the others end with 2 or 3 and write nothing into it."""
    runs = [start(folder / "run", "run.steps=6")[0] for _ in range(4)]
    texts = [run.communicate(timeout=100)[0] for run in runs]
    codes = sorted(run.returncode for run in runs)
    expect(codes[0] == 0 and all(code in (2, 3) for code in codes[1:]), f"{codes}\n" + "\n".join(texts))
    expect(steps_taken(folder / "run") == list(range(1, 7)), steps_taken(folder / "run"))


@case
def folder_deleted_in_the_middle_of_a_run(folder):
    """The run ends with 3 and the path, and the same command goes on."""
    run = start(folder / "run", "run.steps=4000")
    wait_for_step(folder / "run", 3, run)
    shutil.rmtree(folder / "run/trajectories")
    ended(run, 3, said="No such file or directory")
    steps = max(steps_taken(folder / "run"))
    ended(start(folder / "run", f"run.steps={steps + 2}"), 0, said="resumes after step")


@case
def whole_directory_deleted_in_the_middle_of_a_run(folder):
    """The run ends with 3 and says so; it does not go on writing to nowhere."""
    run = start(folder / "run", "run.steps=4000")
    wait_for_step(folder / "run", 3, run)
    shutil.rmtree(folder / "run", ignore_errors=True)
    ended(run, 3, said=str(folder / "run"), within=30)


@case
def directory_of_another_user(folder):
    """A start by one who may not write there is refused with 2 or 3 and the path; nothing in it changes, and its owner
    goes on."""
    need_root()
    ended(start(folder / "run", TEMPER_FAULT="update:interrupt@4"), 130)
    for path in [*folder.parents, *jobs.taught().parents]:
        if "temper_faults_" in str(path):
            path.chmod(0o755)
    (folder / "tmp").chmod(0o777)
    before = {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *jobs.TAUGHT,
                              "run.overwrite=false")
    done = subprocess.run([str(word) for word in words], user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
                          env=jobs.plain_environment(HOME=folder / "tmp"), cwd=jobs.ROOT, timeout=60)
    expect(done.returncode in (2, 3) and str(folder / "run") in done.stderr, f"{done.returncode} {done.stdout}{done.stderr}")
    now = {path: path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file()}
    expect(now == before, "something changed")
    for path in (folder / "tmp").glob("temper-65534-*"):
        path.unlink()
    goes_on(folder / "run")


@case(needs=(jobs.model,))
def run_directory_that_is_something_else(folder):
    """A folder with files of a user's, or a file, is never taken for a run, not even with run.overwrite=true."""
    (folder / "run").mkdir()
    (folder / "run/thesis.tex").write_text("three years")
    (folder / "notes").write_text("notes")
    for place, more in ((folder / "run", "run.overwrite=true"), (folder / "run", "run.overwrite=false"),
                        (folder / "notes", "run.overwrite=true")):
        done = jobs.wait_all(jobs.start_temper(1, f"run.dir={place}", f"model.path={jobs.model()}", more))
        expect(done.codes[0] in (2, 3) and str(place) in done.text, f"{done.codes} {done.text}")
    expect((folder / "run/thesis.tex").read_text() == "three years" and (folder / "notes").read_text() == "notes")
