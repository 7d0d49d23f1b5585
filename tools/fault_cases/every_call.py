"""A run that is killed at each system call of a save, and of what it records around it; then it goes on."""

import functools
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import jobs
import resumed_runs

from . import harness
from .harness import Skipped, case, expect, extend
from .runs import ended, lines_of

STEPS = 3  # the save of the second one is ended: it has one before it to remove, and a step comes after it
WORDS = [*resumed_runs.BASE, f"run.steps={STEPS}", "checkpoint.every=1", "checkpoint.keep=1"]
CHANGES = ("write", "pwrite64", "fsync", "rename", "renameat2", "mkdir", "unlink", "unlinkat", "rmdir", "truncate", "ftruncate",
           "clone3")
NEAR = 2  # of many that are alike, at each end
CANNOT_TRACE = 77
KILLED = -9
A_LIFE_S = 60


class Part:
    """Whose calls are counted: `rank` of `count`, from the `nth` write to `file` on, as kill_at_call says. `again`: of a life that
    resumes after a kill, else of the first."""

    def __init__(self, rank=0, count=1, file="metrics.jsonl", nth=3, until="", measured=(), again=False):
        self.rank, self.count, self.file, self.nth, self.until = rank, count, file, nth, until
        self.measured, self.again = measured, again

    def words(self):
        """With which nothing depends on when it runs."""
        return self.measured or [cache(self.count)]


ONE = Part()
FIRST_OF_TWO = Part(count=2)
SECOND_OF_TWO = Part(rank=1, count=2, file="checkpoints/step_000002.tmp/rank_00001.safetensors", nth=1)
MEASURED = ("rollout.turns=1", "reward.slope=0")  # nothing is learned from a time, and nobody is told one
JOURNAL = Part(nth=2, until="metrics.jsonl", measured=MEASURED)  # from the first step's line to the second one's
GOING_ON = Part(file="run.lock", nth=1, until="metrics.jsonl", again=True)  # to the line of the first step that it takes


@functools.cache
def killer():
    """The program that counts a run's system calls and kills it at one of them; or a Skipped that says why there is none."""
    made, source = jobs.WORK / "kill_at_call", Path(__file__).with_name("kill_at_call.cc")
    try:
        subprocess.run(["g++", "-std=c++20", "-O1", source, "-o", made], check=True)
    except FileNotFoundError:
        return Skipped("no g++")
    tried = subprocess.run([made, jobs.WORK, "none", "1", "", "0", "/dev/null", "true"], capture_output=True)
    return Skipped("no process can be traced here") if tried.returncode == CANNOT_TRACE else made


def life(directory, count, *words, before=lambda rank: ()):
    """Ranks of the run; `before`: what stands in front of a rank's command. Those without come first, and end with it."""
    port, ranks = jobs.free_port(), {}
    for rank in sorted(range(count), key=lambda rank: len(before(rank))):
        command = jobs.temper_words(f"run.dir={directory}", f"model.path={jobs.taught()}", *WORDS, *words)
        also = {"KILL_ALSO": " ".join(str(process.pid) for process in ranks.values())}
        ranks[rank] = subprocess.Popen([*map(str, [*before(rank), *command])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True, errors="replace", cwd=jobs.ROOT,
                                       env=jobs.torchrun_environment(rank, count, port) | also)
    return [ranks[rank] for rank in range(count)]


def counted_life(part, directory, at, listed, *words):
    front = [killer(), directory, part.file, part.nth, part.until, at, listed]
    return life(directory, part.count, *words, before=lambda rank: front if rank == part.rank else [])


@functools.cache
def verdicts(count):
    """Of every answer that the run gives."""
    file = jobs.WORK / f"verdicts_of_{count}.db"
    ended(life(jobs.WORK / f"first_of_{count}", count, f"env.cache={file}"), *[0] * count)
    return file


def cache(count):
    copy = Path(tempfile.mkdtemp(dir=jobs.WORK)) / "verdicts.db"
    shutil.copy(verdicts(count), copy)
    return f"env.cache={copy}"


@functools.cache
def never_killed(count, measured=()):
    directory = Path(tempfile.mkdtemp(dir=jobs.WORK)) / "run"
    ended(life(directory, count, *(measured or [cache(count)])), *[0] * count)
    expect(any(line.get("env/correct", 0) > 0 for line in lines_of(directory)), "nothing right, nothing learned")
    return directory


def alike(line, directory):
    """A call without what another life has another of; files of a folder go in any order."""
    line = re.sub(r"\.tmp\d+|tfevents\.\d+|pipe:\[\d+\]", "", line.strip().replace(str(directory), ""))
    return re.sub(r"^(unlink\S* .*/).+", r"\1", line)


@functools.cache
def calls(part):
    """The lines of all calls, in their order."""
    folder = Path(tempfile.mkdtemp(dir=jobs.WORK))
    if part.again:
        shutil.copytree(killed_before_its_name(), folder / "run")
    run = counted_life(part, folder / "run", 0, folder / "list", *part.words())
    ended(run, *[0] * part.count)
    return [alike(line, folder / "run") for line in (folder / "list").read_text().splitlines()]


@functools.cache
def killed_before_its_name():
    """The directory of a run that was killed as a checkpoint was whole and had no name yet."""
    directory = Path(tempfile.mkdtemp(dir=jobs.WORK)) / "run"
    kill_at(ONE, directory, call_at(ONE, "rename", "/checkpoints/step_000002"), *ONE.words())
    return directory


def call_at(part, name, path):
    """The number of such a call; 0: there is none."""
    return next((number for number, line in enumerate(calls(part), 1) if line == f"{name} {path}"), 0)


def ready(part):
    """What cases about the part need."""
    def make():
        if not isinstance(killer(), Skipped):
            calls(part)
            never_killed(part.count, part.measured)
    return make


def chosen(all_calls):
    """Numbers of the calls to be killed at. Of those that change something all but the middle of many that are alike; of those that
    only look the first and the last of each kind, as all is then as the call before has left it."""
    if harness.EVERY:
        return list(range(1, len(all_calls) + 1))
    changing, looking = {}, {}
    for number, line in enumerate(all_calls, 1):
        name = line.split(" ")[0]
        if name in CHANGES or name == "openat" and ".tmp" in line:
            changing.setdefault(line, []).append(number)
        else:
            looking.setdefault(name, []).append(number)
    near = {number for numbers in changing.values() for number in numbers[:NEAR] + numbers[-NEAR:]}
    near |= {number for numbers in looking.values() for number in (numbers[0], numbers[-1])}
    return sorted(near | {1, len(all_calls)})


def kill_at(part, directory, number, *words):
    """Ends all ranks at the call."""
    listed = directory.with_suffix(".list")
    text = ended(counted_life(part, directory, number, listed, *words), *[KILLED] * part.count)
    came = alike(listed.read_text(), directory)
    expect(came == calls(part)[number - 1], f"killed at '{came}', not at '{calls(part)[number - 1]}'\n{text}")


def differences(directory, whole):
    """Of two runs, in words: figures, trajectories, weights."""
    found = [f"figures of step {a.get('step')}: {sorted(key for key in a | b if a.get(key) != b.get(key))}"
             for a, b in zip(resumed_runs.figures(directory), resumed_runs.figures(whole)) if a != b]
    if len(resumed_runs.figures(directory)) != len(resumed_runs.figures(whole)):
        found.append("the number of lines of the metrics")
    if resumed_runs.trajectories(directory) != resumed_runs.trajectories(whole):
        found.append("trajectories")
    if not resumed_runs.state(whole, STEPS) or resumed_runs.state(directory, STEPS) != resumed_runs.state(whole, STEPS):
        found.append("weights and moments")
    final = "checkpoints/final/model.safetensors"
    if (directory / final).read_bytes() != (whole / final).read_bytes():
        found.append("the exported weights")
    return found


def steps_there(part, number):
    """Of which steps a whole checkpoint may be found after a kill at the call; 0: none, and the run begins again."""
    if part.again:
        return {1}
    if part.rank > 0:
        return {1, 2}
    if number > call_at(part, "rename", "/checkpoints/step_000002"):
        return {2}
    if number > call_at(part, "mkdir", "/checkpoints/step_000002.tmp"):
        return {1}
    return {0, 1}  # the save of the first step may still go on


def goes_on_alike(part, directory, number, *words):
    """The next start takes the run to its end, from the checkpoint that must be there, and it is one that was never killed."""
    text = ended(life(directory, part.count, *words), *[0] * part.count)
    after = re.findall(r"resumes after step (\d+)", text) or ["0"]
    expect(int(after[0]) in steps_there(part, number), f"resumes after step {after[0]}, not {steps_there(part, number)}\n{text}")
    return differences(directory, never_killed(part.count))


def attempted(attempt, *words):
    """What is wrong, in one text; none: nothing."""
    try:
        return "; ".join(attempt(*words))
    except AssertionError as error:
        return str(error)


def at_calls_of(part, folder, share, shares, attempt):
    """Kills a run at each chosen call of a share of them and lets it go on: what `attempt` finds wrong, or what is said of it."""
    if isinstance(killer(), Skipped):
        raise killer()
    numbers = chosen(calls(part))
    numbers = numbers[len(numbers) * share // shares:len(numbers) * (share + 1) // shares]
    wrong = []
    for number in numbers:
        extend(3 * A_LIFE_S)
        directory = folder / f"run_{number}"
        if found := attempted(attempt, directory, number):
            wrong.append(f"killed at call {number}, {calls(part)[number - 1]}: {found}")
        shutil.rmtree(directory)
    in_short = [text.splitlines()[0] for text in wrong]
    expect(not wrong, "\n".join([f"{len(wrong)} of {len(numbers)} are not alike", *in_short, "", "The first of them:", *wrong[:1]]))
    return f"{len(numbers)} kills, at calls {numbers[0]} to {numbers[-1]} of {len(calls(part))}: figures and weights are alike each time"


def killed_at_each(name, part, shares):
    for share in range(shares):
        its_name = f"killed at each system call of {name}" + f": {share + 1} of {shares}" * (shares > 1)

        @case(name=its_name, needs=(jobs.taught, ready(part)))
        def _(folder, share=share):
            """Wherever a run is killed, between the record of a step and the removal of the checkpoint before it or as it goes on,
            the same command takes it to its end from the checkpoint that must be there, and figures, trajectories and weights
            are, to the bit, those of a run that was never killed."""
            def attempt(directory, number):
                words = part.words()
                if part.again:
                    shutil.copytree(killed_before_its_name(), directory)
                kill_at(part, directory, number, *words)
                return goes_on_alike(part, directory, number, *words)
            return at_calls_of(part, folder, share, shares, attempt)


killed_at_each("a save", ONE, 4)
killed_at_each("a save, rank 0 of two", FIRST_OF_TWO, 2)
killed_at_each("a save, rank 1 of two", SECOND_OF_TWO, 2)
killed_at_each("going on", GOING_ON, 2)


# --------------------------------------------------------------------------------------------------------- what is measured for real

def untimed(directory):
    """The figures that no clock is behind."""
    return [{name: value for name, value in line.items() if not re.search("speedup|fast_", name)} for line in resumed_runs.figures(directory)]


def journal(directory):
    """digest → verdict, and the digests that were asked for."""
    found, asked = {}, set()
    for file in sorted((directory / "verdicts").glob("rank_*")):
        lines = file.read_text().split("\n")[:-1]  # what ends in no line's end was cut short
        for line in map(json.loads, lines):
            if "verdict" in line:
                found[line["digest"]] = line["verdict"]
            if "asked" in line:
                asked.add(line["asked"])
    return found, asked


def kept_or_named(directory):
    """What is wrong with the next start of a run that has judged for real."""
    before, asked = journal(directory)
    lines = untimed(directory)
    text = ended(life(directory, 1, *MEASURED), 0)
    named = sum(int(number) for number in re.findall(r"measured anew.*: (\d+) candidates", text))
    wrong = []
    if named != len(asked - before.keys()):
        wrong.append(f"{len(asked - before.keys())} verdicts were asked for and had not come, {named} are named")
    if {digest: verdict for digest, verdict in journal(directory)[0].items() if digest in before} != before:
        wrong.append("verdicts that had come are others")
    whole = never_killed(1, MEASURED)
    if untimed(directory) != untimed(whole) or lines != untimed(whole)[:len(lines)]:
        wrong.append("figures")
    final = "checkpoints/final/model.safetensors"
    if (directory / final).read_bytes() != (whole / final).read_bytes():
        wrong.append("the exported weights")
    return wrong, named


@case(name="killed at each system call of the journal and the record", needs=(jobs.taught, ready(JOURNAL)))
def _(folder):
    """Wherever a run that measures is killed between two steps' records, verdicts that had come stay as they were, those that had
    not are measured anew and named, and what no clock is behind is, to the bit, that of a run that was never killed."""
    anew = 0

    def attempt(directory, number):
        nonlocal anew
        kill_at(JOURNAL, directory, number, *MEASURED)
        wrong, named = kept_or_named(directory)
        anew += named
        return wrong
    return at_calls_of(JOURNAL, folder, 0, 1, attempt) + f"; {anew} verdicts were measured anew, all of them named"
