"""Runs that tests stop and let go on, and what is compared of them.

What is judged again may time differently, and that alone: where steps after the stop must equal those of a run that
was not stopped, both take their verdicts from one file (env.cache). What was judged before the stop needs none: the
run keeps it itself.
"""

import functools
import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import jobs
from jobs import TAUGHT, json_lines, start_temper, wait_all

STEPS = 6
BASE = [*TAUGHT, f"run.steps={STEPS}", "run.overwrite=false", "checkpoint.every=2", "checkpoint.keep=3",
        "rollout.samples_per_task=4", "optimizer.lr=2e-4", "optimizer.schedule=linear", "optimizer.warmup=0.1"]


def run(directory, *words, count=1, fault="", taught=True):
    """One life of the run in `directory`."""
    start = [f"model.path={jobs.taught()}"] if taught else []
    of_rank = lambda rank: {"TEMPER_FAULT": fault} if fault and rank == count - 1 else {}
    if count == 1:
        of_rank = lambda rank: {"TEMPER_FAULT": fault} if fault else {}
    return wait_all(start_temper(count, f"run.dir={directory}", *start, *BASE, *words, of_rank=of_rank))


def figures(directory):
    """All lines but what clocks say, and the command."""
    timed = ("start", "timing_s/", "perf/throughput", "perf/gen_throughput", "perf/cpu_memory", "throughput/", "perf/max_memory", "cold_start/throughput", "cold_start/seconds")
    return [{k: v for k, v in line.items() if not k.startswith(timed)} for line in json_lines(directory / "metrics.jsonl")]


def after(step, lines):
    """The figures of a run that began after that step as another run's: the first line says what made the run."""
    return lines[:1] + [line for line in lines if line["step"] > step]


def trajectories(directory):
    return {p.name: p.read_bytes() for p in sorted((directory / "trajectories").iterdir())}


def answers(directory, step):
    """The ids of all rows of a step."""
    done = subprocess.run([jobs.BUILD / "temper", "show", directory, str(step), "--json"],
                          capture_output=True, text=True, check=True)
    return [[row["ids"] for row in json.loads(line)["segments"]] for line in done.stdout.splitlines()]


def state(directory, step=STEPS):
    """Master weights and moments."""
    return {p.name: p.read_bytes() for p in (directory / f"checkpoints/step_{step:06}").glob("*.safetensors")}


def trees(directory):
    """Every file with its content, but the lock's."""
    return {p.relative_to(directory): p.read_bytes() for p in directory.rglob("*") if p.is_file() and p.name != "run.lock"}


def steps_saved(directory):
    return sorted(int(p.name[5:]) for p in (directory / "checkpoints").iterdir() if p.name[5:].isdigit())


@functools.cache
def verdicts():
    """Of every answer that a run of this config gives."""
    file = jobs.WORK / "verdicts.db"
    ended = run(jobs.WORK / "first", f"env.cache={file}", "run.overwrite=true")
    assert ended.codes == [0], ended.text
    return file


@functools.cache
def uninterrupted():
    directory = jobs.WORK / "uninterrupted"
    ended = run(directory, cache())
    assert ended.codes == [0], ended.text
    assert any(line.get("env/correct", 0) > 0 for line in figures(directory)), "nothing right, nothing learned"
    return directory


def cache():
    copy = Path(tempfile.mkdtemp(dir=jobs.WORK)) / "verdicts.db"
    shutil.copy(verdicts(), copy)
    return f"env.cache={copy}"


class Resume(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(dir=jobs.WORK)) / "run"

    def expect_code(self, ended, *codes):
        self.assertEqual(ended.codes, list(codes), ended.text)
        return ended.text

    def expect_like_uninterrupted(self, directory=None):
        directory = directory or self.dir
        self.assertEqual(figures(directory), figures(uninterrupted()))
        self.assertEqual(trajectories(directory), trajectories(uninterrupted()))
        self.assertEqual(state(directory), state(uninterrupted()))
        self.assertTrue(state(directory))
        self.assertEqual((directory / "checkpoints/final/model.safetensors").read_bytes(),
                         (uninterrupted() / "checkpoints/final/model.safetensors").read_bytes())
        self.assertTrue((directory / "finished.json").exists())
