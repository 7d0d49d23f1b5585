"""Stops the built program and lets it go on: python3 tests/resume_test.py build"""

import json
import shutil
import subprocess
import time
from pathlib import Path
from random import Random

import jobs
from jobs import json_lines, run_tests, start_temper, taught
from resumed_runs import BASE, STEPS, Resume, answers, cache, figures, run, state, trajectories, uninterrupted


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
            # Longer and longer: however slow the machine becomes, one life comes to the end, and however fast, not the first two.
            time.sleep(random.uniform(0, 0.15 * seconds * 1.1**lives) if lives > 2 else 0)
            process.kill()
            process.communicate()
            self.assertLess(lives, 100)
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

    def test_near_a_folder_that_has_another_chat_template_now(self):
        folder = self.dir.parent / "start"
        subprocess.run([jobs.BUILD / "temper", "export", taught(), folder], check=True, stdout=subprocess.DEVNULL)
        words = [f"model.path={folder}", "loss.kl_coefficient=0.5", "rollout.prompt.style=short", "run.steps=3", f"env.cache={self.dir.parent / 'verdicts.db'}"]
        for _ in range(2):  # the second has all its verdicts from the file
            shutil.rmtree(self.dir, ignore_errors=True)
            self.expect_code(run(self.dir, *words), 0)
        whole = figures(self.dir)
        shutil.rmtree(self.dir)
        self.expect_code(run(self.dir, *words, fault="update:interrupt@2"), 130)
        config = folder / "tokenizer_config.json"
        config.write_text(json.dumps({**json.loads(config.read_text()), "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}))
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        text = self.expect_code(run(self.dir, *words), 0)
        self.assertIn("is another one than the one with which the run began", text)
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


class Ranks(Resume):
    """Another number of ranks goes on."""

    def from_to(self, before, after, degree=0, stage=0):
        """The first of them in shard groups of so many ranks."""
        words = [cache()]
        self.expect_code(run(self.dir, *words, f"model.shard_degree={degree}", f"model.zero_stage={stage}", count=before,
                             fault="update:interrupt@3"), *[130] * before)
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

    def test_groups_then_two(self):
        self.from_to(4, 2, degree=2)

    def test_sharded_weights_then_one(self):
        self.from_to(3, 1, stage=3)

    def test_sharded_weights_then_whole_ones_and_back_bit_for_bit(self):
        """Near a reference, whose weights are sharded as well, and with the trainer's own log-probs. What the optimizer keeps
        is in the host's memory before, after or both times."""
        words = ["loss.kl_coefficient=0.5", "loss.importance_cap=2", f"env.cache={self.dir.parent / 'verdicts.db'}"]
        whole = self.dir.parent / "whole"
        for _ in range(2):  # the second has all its verdicts from the file
            shutil.rmtree(whole, ignore_errors=True)
            self.expect_code(run(whole, *words, "model.zero_stage=2", count=2), 0, 0)
        on_host = "model.offload_optimizer=true"
        for first, then in ((["model.zero_stage=3"], ["model.zero_stage=2", on_host]),
                            (["model.zero_stage=2", on_host], ["model.zero_stage=3"]),
                            (["model.zero_stage=3", on_host], ["model.zero_stage=3", on_host]),
                            (["model.zero_stage=2", "model.phases=apart"], ["model.zero_stage=2", "model.phases=apart"])):
            with self.subTest(f"{first} then {then}"):
                shutil.rmtree(self.dir, ignore_errors=True)
                ended = run(self.dir, *words, *first, count=2, fault="update:kill@4")
                self.assertEqual(ended.codes[-1], -9, ended.text)
                self.expect_code(run(self.dir, *words, *then, count=2), 0, 0)
                self.assertEqual(figures(self.dir), figures(whole))
                self.assertEqual(trajectories(self.dir), trajectories(whole))
                self.assertEqual(state(self.dir), state(whole))

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

    def bit_for_bit(self, count, *words):
        words = [cache(), *words]
        whole = self.dir.parent / "whole"
        self.expect_code(run(whole, *words, count=count), *[0] * count)
        ended = run(self.dir, *words, count=count, fault="update:kill@5")
        self.assertEqual(ended.codes[-1], -9, ended.text)
        self.expect_code(run(self.dir, *words, count=count), *[0] * count)
        # On several ranks an answer may come that one rank does not give. It is judged for the first run, and known to the other.
        known = lambda lines: [{key: value for key, value in line.items() if key != "env/cached"} for line in lines]
        self.assertEqual(known(figures(self.dir)), known(figures(whole)))
        self.assertEqual(state(self.dir), state(whole))
        self.assertEqual(len(state(whole)), count)

    def test_two_then_two_bit_for_bit(self):
        self.bit_for_bit(2)

    def test_groups_bit_for_bit(self):
        self.bit_for_bit(4, "model.shard_degree=2", "model.zero_stage=2")


if __name__ == "__main__":
    run_tests("resume")
