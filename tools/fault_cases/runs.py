"""Small runs to break: started, watched, taken up again; the program with other helpers beside it; libraries to preload."""

import json
import os
import select
import subprocess
import time
from pathlib import Path

import jobs
import resumed_runs

from patience import PATIENCE_S

from .harness import HELPERS, Skipped, expect

# That candidates are judged may take seconds, in which a rank is not hung.
QUICK_END = ["ranks.silence_s=10", "ranks.timeout_s=30"]


def taught():
    return f"model.path={jobs.taught()}"


def start(directory, *words, count=1, of_rank=lambda rank: {}, program_of=lambda rank: None, **environment):
    """Ranks of a run that has a policy whose answers are half right."""
    more = {name: str(value) for name, value in environment.items()}
    return jobs.start_temper(count, f"run.dir={directory}", taught(), *resumed_runs.BASE, "run.steps=40", *QUICK_END, *words,
                             of_rank=lambda rank: more | of_rank(rank), program_of=program_of)


def start_cold(directory, *words, count=1, program_of=lambda rank: None, **environment):
    """The same of one that has nothing yet: corpus, cold start, evaluation."""
    more = {name: str(value) for name, value in environment.items()}
    return jobs.start_temper(count, f"run.dir={directory}", *QUICK_END, "env.lanes=1", *words, of_rank=lambda rank: more,
                             program_of=program_of)


def end_now(processes):
    """What they have said."""
    text = ""
    for process in processes:
        process.kill()
        try:
            text += process.communicate(timeout=5)[0] or ""
        except (subprocess.TimeoutExpired, ValueError):  # a child of it has the pipe, or this case has closed it
            pass
    return text


def wait_until(happened, processes, what, patience=PATIENCE_S):
    deadline = time.monotonic() + patience * jobs.patient()
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        if happened():
            return
        time.sleep(0.01)
    raise AssertionError(f"not seen: {what}\n{end_now(processes)}")


def pending(pid, sent):
    """Whether a signal to the process waits to be heard."""
    with open(f"/proc/{pid}/status") as status:
        waiting = [int(line.split()[1], 16) for line in status if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(one >> (sent - 1) & 1 for one in waiting)


def wait_for_step(directory, step, processes, patience=PATIENCE_S):
    wait_until((directory / f"trajectories/step_{step:06}.safetensors").exists, processes, f"step {step}", patience)


def ended(processes, *codes, said="", within=PATIENCE_S):
    """Their output. `codes` by rank; None: any but 0."""
    since = time.monotonic()
    try:
        done = jobs.wait_all(processes, within)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"still there after {within} s\n{end_now(processes)}")
    fits = len(codes) == len(done.codes) and all(a == b or (a is None and b != 0) for a, b in zip(codes, done.codes))
    expect(fits, f"exit codes {done.codes}, not {list(codes)}, after {time.monotonic() - since:.1f} s\n{done.text}")
    for text in (said,) if isinstance(said, str) else said:
        expect(text in done.text, f"does not say '{text}'\n{done.text}")
    return done.text


def lines_of(directory):
    path = directory / "metrics.jsonl"
    return jobs.json_lines(path) if path.exists() else []


def steps_taken(directory):
    return [line["step"] for line in lines_of(directory) if "actor/pg_loss" in line]


def goes_on(directory, *words, said=("resumes after step", "begins again"), count=1, more_steps=2, **environment):
    """The next start takes the run to its end, and no step is missing or there twice. Its output."""
    steps = max([int(path.name[5:11]) for path in (directory / "trajectories").glob("step_*")] or [0]) + more_steps
    text = ended(start(directory, f"run.steps={steps}", *words, count=count, **environment), *[0] * count)
    expect(any(one in text for one in said), text)
    expect(steps_taken(directory) == list(range(1, steps + 1)), f"steps {steps_taken(directory)}")
    return text


def says_within(processes, text, seconds):
    """Reads the first process' output until it says so."""
    out, heard, deadline = processes[0].stdout.fileno(), "", time.monotonic() + seconds
    while time.monotonic() < deadline and text not in heard:
        if select.select([out], [], [], 0.05)[0]:
            more = os.read(out, 1 << 16)
            if not more:
                break
            heard += more.decode(errors="replace")
    expect(text in heard, f"does not say '{text}' within {seconds} s\n{heard}")
    return heard


# ------------------------------------------------------------------------------------------------------------------ commands

class Done:
    def __init__(self, code, text, seconds):
        self.code, self.text, self.seconds = code, text, seconds


def popen(*words, program=None, cwd=jobs.ROOT, environment={}, **more):
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | more
    return subprocess.Popen([str(program or jobs.BUILD / "temper"), *map(str, words)], text=True, errors="replace", cwd=cwd,
                            env=jobs.plain_environment(**environment), **more)


def temper(*words, code=None, said="", within=PATIENCE_S, **more):
    """One command to its end."""
    since = time.monotonic()
    process = popen(*words, **more)
    try:
        text = process.communicate(timeout=within * jobs.patient())[0] or ""
    except subprocess.TimeoutExpired:
        raise AssertionError(f"still there after {within} s\n{end_now([process])}")
    done = Done(process.returncode, text, time.monotonic() - since)
    if code is not None:
        expect(done.code == code, f"exit code {done.code}, not {code}\n{text}")
    for one in (said,) if isinstance(said, str) else said:
        expect(one in text, f"does not say '{one}'\n{text}")
    return done


def task_and_candidate():
    """A task and an answer that PASSes, of the judge's gallery."""
    return "add", jobs.ROOT / "tests/gallery/cpp/add_plain.cc"


# --------------------------------------------------------------------------------------------------------- what is put beside it

def programs(folder, **replaced):
    """A folder with the programs, temper_broker="TEXT" in the place of temper-broker, None: gone. Returns its temper."""
    place = folder / "programs"
    place.mkdir()
    for path in jobs.BUILD.iterdir():
        if path.is_file() and (path.name == "temper" or path.name.startswith(("temper-", "libtemper"))):
            put(path, place / path.name)
    for name, text in replaced.items():
        replace(place / name.replace("_", "-"), text)
    return place / "temper"


def put(path, to):
    try:
        os.link(path, to)
    except OSError:
        subprocess.run(["cp", path, to], check=True)


def replace(path, text):
    path.unlink(missing_ok=True)
    if text is None:
        return
    aside = path.with_suffix(".new")
    aside.write_text(text)
    aside.chmod(0o755)
    aside.rename(path)


def preload(folder, source):
    """The path of a library that is made of C."""
    file, library = folder / "preloaded.c", folder / "preloaded.so"
    file.write_text("#define _GNU_SOURCE\n" + source)
    try:
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", file, "-o", library, "-ldl"], check=True)
    except FileNotFoundError:
        raise Skipped("no gcc")
    return str(library)


def helper(command, **more):
    """A program beside the run, which ends with the case."""
    process = subprocess.Popen(command, **more)
    HELPERS.append(process)
    return process


def need_root():
    if os.geteuid() != 0:
        raise Skipped("only root can do that")


FILLER = "step_000000.filler"  # what a run that goes on leaves where it is


class Disk:
    """A small file system of its own, gone with the case."""

    def __init__(self, path, size):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.path], capture_output=True)
        if done.returncode != 0:
            raise Skipped("no mount here")

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.path], check=True)

    def fill(self):
        with open(self.path / FILLER, "wb", buffering=0) as filler:
            for size in (1 << 20, 1 << 12):
                try:
                    while filler.write(b"x" * size):
                        pass
                except OSError:
                    pass

    def free(self):
        (self.path / FILLER).unlink()


def json_file(path, change):
    value = json.loads(path.read_text())
    path.write_text(json.dumps(change(value) or value))
