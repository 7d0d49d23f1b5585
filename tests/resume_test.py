"""Stops the built program and lets it go on: python3 tests/resume_test.py build

What is judged again may time differently, and that alone: where steps after the stop must equal those of a run that
was not stopped, both take their verdicts from one file (env.cache). What was judged before the stop needs none: the
run keeps it itself.
"""

import functools
import json
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from random import Random

import jobs
from jobs import TAUGHT, json_lines, start_temper, taught, wait_all

STEPS = 6
BASE = [*TAUGHT, f"run.steps={STEPS}", "run.overwrite=false", "checkpoint.every=2", "checkpoint.keep=3",
        "rollout.samples_per_task=4", "optimizer.lr=2e-4", "optimizer.schedule=linear", "optimizer.warmup=0.1"]


def run(directory, *words, count=1, fault="", timeout=120, taught=True):
    """One life of the run in `directory`."""
    start = [f"model.path={jobs.taught()}"] if taught else []
    of_rank = lambda rank: {"TEMPER_FAULT": fault} if fault and rank == count - 1 else {}
    if count == 1:
        of_rank = lambda rank: {"TEMPER_FAULT": fault} if fault else {}
    return wait_all(start_temper(count, f"run.dir={directory}", *start, *BASE, *words, of_rank=of_rank), timeout)


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


class BitForBit(Resume):
    def stop_and_go_on(self, fault, code, said="resumes after step"):
        shutil.rmtree(self.dir, ignore_errors=True)
        words = cache()
        self.expect_code(run(self.dir, words, fault=fault), code)
        text = self.expect_code(run(self.dir, words), 0)
        self.assertEqual(text.count(said), 1, text)
        self.expect_like_uninterrupted()
        return text

    def test_three_steps_a_stop_and_three_steps(self):
        text = self.stop_and_go_on("update:interrupt@3", 130)
        self.assertIn("resumes after step 3", text)

    def test_killed_anywhere(self):
        # Nothing waits for verdicts that lie in a file: a kill in judging is tried where the corpus is made, and by tools/faults.
        # Behind the second checkpoint's start the first one is there, however slow the disk.
        for place in ("rollout:kill@5", "update:kill@5", "save:kill@9", "share:kill@2"):
            with self.subTest(place):
                self.stop_and_go_on(place, -9)

    def test_killed_before_the_first_checkpoint(self):
        self.stop_and_go_on("update:kill@2", -9, "it was stopped before its first checkpoint")

    def test_killed_twice(self):
        words = cache()
        self.expect_code(run(self.dir, words, fault="rollout:kill@4"), -9)
        self.expect_code(run(self.dir, words, fault="update:kill@3"), -9)
        self.expect_code(run(self.dir, words), 0)
        self.expect_like_uninterrupted()

    def test_killed_at_random_moments(self):
        random, lives = Random(5), 0
        start = [f"model.path={taught()}", *BASE, "checkpoint.every=1"]
        whole = self.begin(*start, f"run.dir={self.dir.parent / 'whole'}", cache())
        began = time.monotonic()
        whole.communicate()
        seconds = time.monotonic() - began
        start += [f"run.dir={self.dir}", cache()]
        while not (self.dir / "finished.json").exists():
            process, lives = self.begin(*start), lives + 1
            time.sleep(random.uniform(0, 0.15 * seconds * 1.1**lives))  # longer and longer: the slowest comes to the end
            process.kill()
            process.communicate()
            self.assertLess(lives, 60)
        self.assertGreater(lives, 2)
        self.expect_like_uninterrupted()

    def begin(self, *words):
        """A life that has the run's lock."""
        process = start_temper(1, *words)[0]
        lock = Path(next(w for w in words if w.startswith("run.dir=")).removeprefix("run.dir=")) / "run.lock"
        while process.poll() is None and not (lock.exists() and f"pid {process.pid} " in lock.read_text()):
            time.sleep(0.005)
        return process

    def test_what_was_judged_before_the_stop_is_not_judged_again(self):
        """With real times and no file of verdicts: the steps after the checkpoint come again to the bit."""
        self.expect_code(run(self.dir, "checkpoint.every=3", fault="rollout:kill@6"), -9)
        before = figures(self.dir), trajectories(self.dir)
        self.assertEqual(len(before[0]), 1 + 5)  # what made the run, and its steps
        self.expect_code(run(self.dir, "checkpoint.every=3", fault="rollout:kill@3"), -9)
        self.assertEqual((figures(self.dir), trajectories(self.dir)), before)
        self.expect_code(run(self.dir, "checkpoint.every=3"), 0)
        self.assertEqual(figures(self.dir)[:6], before[0])
        self.assertEqual({k: v for k, v in trajectories(self.dir).items() if k in before[1]}, before[1])

    def test_killed_in_front_of_writes(self):
        """Of records, journals and each part of a save; a run has about 250."""
        random = Random(7)
        for place in sorted(random.sample(range(20, 150), 6)):
            with self.subTest(place):
                shutil.rmtree(self.dir, ignore_errors=True)
                words = cache()
                self.expect_code(run(self.dir, words, fault=f"write:kill@{place}"), -9)
                self.expect_code(run(self.dir, words), 0)
                self.expect_like_uninterrupted()

    def test_verdicts_that_had_not_come_are_named(self):
        """Without a file of verdicts: what was asked for and not answered is measured anew, and the log says so."""
        for place in (31, 45, 60):
            with self.subTest(place):
                shutil.rmtree(self.dir, ignore_errors=True)
                self.expect_code(run(self.dir, fault=f"write:kill@{place}"), -9)
                lines = json_lines(self.dir / "verdicts/rank_0.jsonl")
                open_ones = {line["asked"] for line in lines if "asked" in line} - {line.get("digest") for line in lines}
                text = self.expect_code(run(self.dir), 0)
                said = [int(line.split(": ")[1].split()[0]) for line in text.splitlines() if "measured again" in line]
                self.assertEqual(sum(said), len(open_ones), text)

    def test_killed_in_the_corpus_the_cold_start_and_the_evaluation(self):
        words = ["eval.before=true", "run.steps=1", "checkpoint.every=1", f"env.cache={self.dir.parent / 'verdicts.db'}"]
        self.expect_code(run(self.dir, *words, taught=False), 0)
        shutil.rmtree(self.dir)
        self.expect_code(run(self.dir, *words, taught=False), 0)
        whole = figures(self.dir), trajectories(self.dir), state(self.dir, 1)
        for place, said in (("judging:kill@1", "stopped before its first"), ("save:kill@1", "stopped before its first"),
                            ("rollout:kill@2", ""), ("rollout:kill@4", "resumes after step 1")):
            with self.subTest(place):
                shutil.rmtree(self.dir)
                self.expect_code(run(self.dir, *words, taught=False, fault=place), -9)
                text = self.expect_code(run(self.dir, *words, taught=False), 0)
                self.assertIn(said, text)
                self.assertEqual((figures(self.dir), trajectories(self.dir), state(self.dir, 1)), whole)

    def test_near_its_starting_weights(self):
        """The reference of the KL term is the start's, not the checkpoint's."""
        words = ["loss.kl_coefficient=0.5", "run.steps=3", f"env.cache={self.dir.parent / 'verdicts.db'}"]
        self.expect_code(run(self.dir, *words), 0)
        shutil.rmtree(self.dir)
        self.expect_code(run(self.dir, *words), 0)
        whole = figures(self.dir)
        self.assertGreater(whole[2]["actor/kl_loss"], 0)
        shutil.rmtree(self.dir)
        self.expect_code(run(self.dir, *words, fault="rollout:kill@3"), -9)
        self.expect_code(run(self.dir, *words), 0)
        self.assertEqual(figures(self.dir), whole)


class WithinTheColdStart(Resume):
    """A run that is stopped there goes on there, on traces and on data."""

    COLD = ["run.steps=1", "checkpoint.every=1", "cold_start.epochs=2", "cold_start.batch_tokens=600", "cold_start.checkpoint_every=3"]

    def stop_and_go_on(self, words, taught):
        words = [*self.COLD, f"env.cache={self.dir.parent / 'verdicts.db'}", *words]
        whole = self.dir.parent / "whole"
        for _ in range(2):  # the second has all its verdicts from the file
            shutil.rmtree(whole, ignore_errors=True)
            self.expect_code(run(whole, *words, taught=taught), 0)
        self.assertGreater(sum("cold_start/loss" in line for line in figures(whole)), 12)
        for fault, code, said in (("save:kill@3", -9, "resumes after update [36] of the cold start"),
                                  ("save:interrupt@2", 130, "resumes after update 6 of the cold start")):
            with self.subTest(fault):
                shutil.rmtree(self.dir, ignore_errors=True)
                text = self.expect_code(run(self.dir, *words, taught=taught, fault=fault), code)
                if code == 130:
                    self.assertIn("interrupted; the same command resumes the cold start", text)
                    self.assertTrue((self.dir / "checkpoints/cold_start_000006/manifest.json").exists())
                self.assertRegex(self.expect_code(run(self.dir, *words, taught=taught), 0), said)
                self.assertEqual(figures(self.dir), figures(whole))
                self.assertEqual(trajectories(self.dir), trajectories(whole))
                self.assertEqual(state(self.dir, 1), state(whole, 1))
                for name in ("cold_start", "final"):
                    file = f"checkpoints/{name}/model.safetensors"
                    self.assertEqual((self.dir / file).read_bytes(), (whole / file).read_bytes())
        return words

    def test_on_traces(self):
        self.stop_and_go_on([], taught=False)

    def test_on_data(self):
        data = self.dir.parent / "data.jsonl"
        data.write_text("".join(json.dumps({"messages": [
            {"role": "user", "content": f"Task {i}: {'x' * (20 * i)}"}, {"role": "assistant", "content": f"y[{i}] = x;"},
            {"role": "user", "content": "Again."}, {"role": "assistant", "content": f"z[{i}] = x;", "weight": 0.5}]}) + "\n"
            for i in range(24)))
        words = [f"cold_start.data={data}", "loss.kl_coefficient=0.1"]
        words = self.stop_and_go_on(words, taught=True)
        shutil.rmtree(self.dir)
        self.expect_code(run(self.dir, *words, fault="save:interrupt@2"), 130)
        data.write_text(data.read_text().replace("Again", "again"))
        text = self.expect_code(run(self.dir, *words), 2)
        self.assertIn("the cold start's examples are others than before the stop", text)


class Choosing(Resume):
    """Which checkpoint is used, and which is refused and why."""

    def stopped(self):
        self.words = cache()
        self.expect_code(run(self.dir, self.words, fault="update:interrupt@4"), 130)
        self.assertEqual(steps_saved(self.dir), [2, 4])
        return self.dir / "checkpoints/step_000004"

    def expect_the_one_before(self, reason):
        text = self.expect_code(run(self.dir, self.words), 0)
        self.assertEqual(text.count("checkpoint step_000004 is not used: "), 1, text)
        self.assertIn(reason, text)
        self.assertIn("resumes after step 2", text)
        self.expect_like_uninterrupted()

    def damage(self, name, change, reason):
        file = self.stopped() / name
        data = bytearray(file.read_bytes())
        file.write_bytes(change(data))
        self.expect_the_one_before(reason)

    def test_flipped_byte(self):
        def flip(data):
            data[-5] ^= 1
            return data
        self.damage("rank_00000.safetensors", flip, "rank_00000.safetensors was changed or damaged")

    def test_truncated_share(self):
        self.damage("rank_00000.safetensors", lambda data: data[:len(data) // 2], "its manifest says")

    def test_edited_manifest(self):
        self.damage("manifest.json", lambda data: data.replace(b'"updates": 4', b'"updates": 5'),
                    "manifest.json was changed")

    def test_truncated_manifest(self):
        self.damage("manifest.json", lambda data: data[:99], "manifest.json is not whole")

    def test_another_version(self):
        self.damage("manifest.json", lambda data: data.replace(b'"version": 1', b'"version": 2'),
                    "it has format version 2, this program reads 1")

    def test_another_tokenizer(self):
        self.damage("tokenizer.model", lambda data: data[:-1] + b"x", "tokenizer.model was changed or damaged")

    def test_no_manifest(self):
        (self.stopped() / "manifest.json").unlink()
        self.expect_the_one_before("it has no manifest.json")

    def test_half_written(self):
        self.stopped().rename(self.dir / "checkpoints/step_000004.tmp")
        text = self.expect_code(run(self.dir, self.words), 0)
        self.assertIn("resumes after step 2", text)
        self.expect_like_uninterrupted()
        self.assertEqual([p.name for p in (self.dir / "checkpoints").iterdir() if "tmp" in p.name], [])

    def test_none_that_is_whole(self):
        self.stopped()
        for step in (2, 4):
            (self.dir / f"checkpoints/step_{step:06}/manifest.json").write_text("{}")
        text = self.expect_code(run(self.dir, self.words), 2)
        self.assertIn("has no checkpoint to resume from", text)
        self.assertEqual(steps_saved(self.dir), [2, 4])

    def test_of_another_config(self):
        self.stopped()
        text = self.expect_code(run(self.dir, self.words, "optimizer.lr=2e-3", "rollout.turns=1"), 2)
        self.assertIn("it is of another config: optimizer.lr is 0.002, was 0.0002; rollout.turns is 1, was 2", text)
        self.assertEqual(steps_saved(self.dir), [2, 4])

    def test_another_starting_model(self):
        self.stopped()
        other = jobs.train_alone("run.steps=0", "eval.before=false", "run.seed=4") / "checkpoints/cold_start"
        shutil.copytree(taught(), self.dir.parent / "model")
        (self.dir.parent / "model/tokenizer.model").write_bytes((other / "tokenizer.model").read_bytes()[:-1] + b"y")
        text = self.expect_code(run(self.dir, self.words, f"model.path={self.dir.parent / 'model'}"), 2)
        self.assertIn("model.path is ", text)

    def test_more_steps_for_a_finished_run(self):
        self.expect_code(run(self.dir, "run.steps=2", "optimizer.schedule=constant"), 0)
        before = trees(self.dir)
        text = self.expect_code(run(self.dir, "run.steps=2", "optimizer.schedule=constant"), 0)
        self.assertIn("is complete: it ended after step 2", text)
        self.assertIn("raise run.steps to continue it", text)
        self.assertEqual(trees(self.dir), before)
        text = self.expect_code(run(self.dir, "run.steps=2", "optimizer.schedule=linear"), 2)
        self.assertIn("holds a run of another config: optimizer.schedule is linear, was constant", text)
        text = self.expect_code(run(self.dir, "run.steps=3", "optimizer.schedule=constant"), 0)
        self.assertIn("resumes after step 2", text)
        steps = [line["step"] for line in figures(self.dir) if "actor/pg_loss" in line]
        self.assertEqual(steps, [1, 2, 3])
        self.assertEqual(sum("val/sampled/correct" in line for line in figures(self.dir)), 1)

    def test_never(self):
        self.stopped()
        text = self.expect_code(run(self.dir, self.words, "checkpoint.resume=never"), 2)
        self.assertIn("holds a run already", text)

    def test_a_given_one(self):
        self.stopped()
        given = f"checkpoint.resume={self.dir / 'checkpoints/step_000002'}"
        other = self.dir.parent / "other"
        text = self.expect_code(run(other, self.words, given), 0)
        self.assertIn("resumes after step 2", text)
        self.assertEqual(figures(other), after(2, figures(uninterrupted())))
        self.assertEqual(state(other), state(uninterrupted()))
        self.expect_code(run(self.dir, self.words, given), 0)
        self.expect_like_uninterrupted()
        text = self.expect_code(run(self.dir, self.words, "checkpoint.resume=/nowhere"), 2)
        self.assertIn("checkpoint.resume: '/nowhere' is not a folder", text)

    def test_a_directory_in_use(self):
        first = start_temper(1, f"run.dir={self.dir}", f"model.path={taught()}", *BASE, "run.steps=100000")
        try:
            for _ in range(300):
                if (self.dir / "metrics.jsonl").exists():
                    break
                time.sleep(0.1)
            for more in ("run.overwrite=false", "run.overwrite=true"):
                text = self.expect_code(run(self.dir, "run.steps=100000", more), 2)
                self.assertIn(f"is in use by another process: pid {first[0].pid} on host", text)
        finally:
            first[0].kill()
            first[0].communicate()

    def test_the_last_and_the_best_are_kept(self):
        words = [cache(), "checkpoint.every=1", "checkpoint.keep=2", "checkpoint.best=actor/entropy"]
        self.expect_code(run(self.dir, *words), 0)
        entropy = [line["actor/entropy"] for line in figures(self.dir) if "actor/entropy" in line]
        best = max(range(STEPS), key=lambda i: entropy[i]) + 1
        self.assertEqual(steps_saved(self.dir), sorted({best, STEPS - 1, STEPS}))

    def test_export_of_a_checkpoint(self):
        temper = jobs.BUILD / "temper"
        source, out = uninterrupted() / f"checkpoints/step_{STEPS:06}", self.dir.parent / "exported"
        done = subprocess.run([temper, "export", source, out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("model.safetensors", "config.json", "tokenizer.model", "tokenizer.json"):
            self.assertEqual((out / name).read_bytes(), (uninterrupted() / "checkpoints/final" / name).read_bytes())


class Ranks(Resume):
    """Another number of ranks goes on."""

    def from_to(self, before, after):
        words = [cache()]
        self.expect_code(run(self.dir, *words, count=before, fault="update:interrupt@3"), *[130] * before)
        self.assertEqual(len(state(self.dir, 3)), before)
        text = self.expect_code(run(self.dir, *words, count=after), *[0] * after)
        self.assertEqual(text.count("resumes after step 3"), 1, text)
        self.assertEqual(len(state(self.dir)), after)
        ours, whole = ([line for line in figures(d) if "actor/pg_loss" in line] for d in (self.dir, uninterrupted()))
        self.assertEqual([line["step"] for line in ours], [line["step"] for line in whole])
        # Sums in another order round otherwise, and one day another token is drawn: from there on it is another run.
        alike = [answers(self.dir, line["step"]) == answers(uninterrupted(), line["step"]) for line in ours]
        self.assertTrue(alike[0])
        for a, b in zip(ours[:(alike + [False]).index(False)], whole):
            for name in ("actor/grad_norm", "actor/entropy", "critic/rewards/mean"):
                self.assertAlmostEqual(a[name], b[name], delta=1e-4 * abs(b[name]) + 1e-7)

    def test_two_then_one(self):
        self.from_to(2, 1)

    def test_one_then_two(self):
        self.from_to(1, 2)

    def test_two_then_three_that_are_killed_before_their_first_checkpoint(self):
        """What the two have judged is the three's, again and again."""
        rarely = "checkpoint.every=6"  # else one of step 4 may be whole before the kill
        self.expect_code(run(self.dir, rarely, count=2, fault="update:interrupt@3"), 130, 130)
        for _ in range(2):
            ended = run(self.dir, rarely, count=3, fault="rollout:kill@2")
            self.assertEqual(ended.codes[2], -9, ended.text)
        text = self.expect_code(run(self.dir, rarely, count=3), 0, 0, 0)
        self.assertEqual(text.count("resumes after step 3"), 1, text)
        self.assertEqual([line["step"] for line in figures(self.dir) if "actor/pg_loss" in line], list(range(1, STEPS + 1)))

    def test_two_then_two_bit_for_bit(self):
        words = [cache()]
        whole = self.dir.parent / "whole"
        self.expect_code(run(whole, *words, count=2), 0, 0)
        words = [cache()]
        ended = run(self.dir, *words, count=2, fault="update:kill@5")
        self.assertEqual(ended.codes[1], -9, ended.text)
        self.expect_code(run(self.dir, *words, count=2), 0, 0)
        self.assertEqual(figures(self.dir), figures(whole))
        self.assertEqual(state(self.dir), state(whole))
        self.assertEqual(len(state(whole)), 2)


class Forks(Resume):
    """A new run from another run's checkpoint."""

    def fork(self, directory, *words, origin=None, **more):
        origin = origin or uninterrupted() / "checkpoints/step_000002"
        return run(directory, f"checkpoint.fork={origin}", *words, **more)

    def test_with_the_same_options_it_goes_on_as_the_other_did(self):
        before = trees(uninterrupted())
        text = self.expect_code(self.fork(self.dir, cache()), 0)
        self.assertIn("step_000002, after step 2", text)
        self.assertEqual(state(self.dir), state(uninterrupted()))
        self.assertEqual(state(self.dir, 4), state(uninterrupted(), 4))
        self.assertEqual(figures(self.dir), after(2, figures(uninterrupted())))
        self.assertEqual(trees(uninterrupted()), before)

    def test_with_others_they_are_named_and_it_stands_alone(self):
        origin = self.dir.parent / "origin"
        shutil.copytree(uninterrupted(), origin)
        shutil.rmtree(origin / "checkpoints/step_000006")
        shutil.rmtree(origin / "checkpoints/step_000002")
        words = ["optimizer.lr=5e-4", "rollout.temperature=0.9", "tasks.names=[scale_rows_relu, scale_shift_relu, scale_columns_relu]"]
        text = self.expect_code(self.fork(self.dir, *words, origin=origin, fault="update:kill@2"), -9)
        self.assertIn(f"a new run from {origin / 'checkpoints/step_000004'}, after step 4", text)
        for change in ("optimizer.lr is 0.0005, was 0.0002", "rollout.temperature is 0.9, was 1", "the tasks are others"):
            self.assertIn(change, text)
        self.assertEqual(state(self.dir, 4), state(uninterrupted(), 4))
        told = json.loads((self.dir / "fork.json").read_text())
        self.assertEqual((told["step"], told["checkpoint"]), (4, str(origin / "checkpoints/step_000004")))
        self.assertIn("optimizer.lr is 0.0005, was 0.0002", told["changes"])
        shutil.rmtree(origin)
        text = self.expect_code(self.fork(self.dir, *words, origin=origin), 0)
        self.assertIn("resumes after step 4", text)
        self.assertEqual([line["step"] for line in figures(self.dir) if "actor/pg_loss" in line], [5, 6])

    def test_stopped_ones_go_on_bit_for_bit(self):
        known, whole = self.dir.parent / "verdicts.db", self.dir.parent / "whole"
        words = ["optimizer.lr=5e-4", "optimizer.schedule=constant", f"env.cache={self.dir.parent / 'copy.db'}"]

        def fork(directory, **more):
            shutil.copy(known, self.dir.parent / "copy.db")
            return self.fork(directory, *words, **more)

        self.expect_code(self.fork(self.dir, *words, f"env.cache={known}"), 0)
        self.expect_code(fork(whole), 0)
        self.assertNotEqual(state(whole), state(uninterrupted()))
        for fault, code in (("update:interrupt@2", 130), ("rollout:kill@3", -9)):
            with self.subTest(fault):
                shutil.rmtree(self.dir, ignore_errors=True)
                self.expect_code(fork(self.dir, fault=fault), code)
                self.assertIn("resumes after step", self.expect_code(fork(self.dir), 0))
                self.assertEqual(figures(self.dir), figures(whole))
                self.assertEqual(trajectories(self.dir), trajectories(whole))
                self.assertEqual(state(self.dir), state(whole))

    def test_two_ranks_fork_a_run_of_one(self):
        text = self.expect_code(self.fork(self.dir, cache(), count=2), 0, 0)
        self.assertEqual(text.count("step_000002, after step 2"), 1)
        self.assertEqual(figures(self.dir)[1]["step"], 3)
        text = self.expect_code(self.fork(self.dir, cache(), count=2), 0, 0)
        self.assertEqual(text.count("is complete: it ended after step 6"), 1)

    def test_a_damaged_checkpoint_is_passed_over(self):
        origin = self.dir.parent / "origin"
        shutil.copytree(uninterrupted(), origin)
        share = origin / "checkpoints/step_000004/rank_00000.safetensors"
        shutil.rmtree(origin / "checkpoints/step_000006")
        share.write_bytes(share.read_bytes()[:-1] + b"\x55")
        text = self.expect_code(self.fork(self.dir, "eval.samples=1", origin=origin), 0)
        self.assertIn("checkpoint step_000004 is not used: rank_00000.safetensors was changed or damaged", text)
        self.assertIn("step_000002, after step 2", text)
        self.assertTrue(share.exists())

    def test_what_cannot_be_forked_is_refused(self):
        whole = uninterrupted()
        for origin, words, said in (
                ("/nowhere", [], "checkpoint.fork: '/nowhere' is not a folder"),
                (whole / "checkpoints/final", [], "is a model without an optimizer's moments"),
                (whole / "trajectories", [], "has no checkpoint of a step"),
                (whole, [], "it is of step 6, and run.steps is 6"),
                (whole, ["run.steps=9", f"checkpoint.resume={whole / 'checkpoints/step_000006'}"], "not together with"),
                (whole, ["run.steps=9", f"model.path={jobs.model()}"], r"its .* is \[")):
            with self.subTest(said):
                text = self.expect_code(self.fork(self.dir, *words, origin=origin), 2)
                self.assertRegex(text, said)
                self.assertFalse(self.dir.exists())
        text = self.expect_code(self.fork(whole, "run.steps=9", origin=whole), 2)
        self.assertIn("holds a run already, which is not a fork", text)
        text = self.expect_code(self.fork(whole, "run.steps=9", "run.overwrite=true", origin=whole), 2)
        self.assertIn("is the run that checkpoint.fork names", text)
        self.assertTrue((whole / "checkpoints/final").exists())


if __name__ == "__main__":
    jobs.run_tests("resume")
