"""Which checkpoint a run goes on with, and what it refuses: python3 tests/resume_choices_test.py build"""

import functools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import jobs
from jobs import run_tests, start_temper, taught
from patience import comes_true
from resumed_runs import BASE, STEPS, Resume, after, cache, figures, run, state, steps_saved, trajectories, trees, uninterrupted, verdicts


class Stopped:
    """A run that an interrupt ended in its fourth step, in a folder that is put back as often as that is wanted."""

    def __init__(self):
        folder = Path(tempfile.mkdtemp(dir=jobs.WORK))
        self.dir, self.kept, self.verdicts = folder / "run", folder / "kept", folder / "verdicts.db"
        self.words = f"env.cache={self.verdicts}"
        shutil.copy(verdicts(), self.verdicts)
        ended = run(self.dir, self.words, fault="update:interrupt@4")
        assert ended.codes == [130] and steps_saved(self.dir) == [2, 4], ended.text
        shutil.copytree(self.dir, self.kept)

    def put_back(self):
        shutil.rmtree(self.dir)
        shutil.copytree(self.kept, self.dir)
        shutil.copy(verdicts(), self.verdicts)


stopped_run = functools.cache(Stopped)


class Choosing(Resume):
    """Which checkpoint is used, and which is refused and why."""

    def stopped(self):
        """The same run for all, where it was stopped: they change it and go on with it."""
        stopped = stopped_run()
        self.dir, self.words = stopped.dir, stopped.words
        stopped.put_back()
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
            self.assertTrue(comes_true((self.dir / "metrics.jsonl").exists))
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
    run_tests("resume_choices")
