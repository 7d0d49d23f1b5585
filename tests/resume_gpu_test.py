"""Stops runs on GPUs and lets them go on: python3 tests/resume_gpu_test.py build. 77: there is no GPU."""

import functools
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import jobs
import ranks_gpu_test as gpu
import resume_test
import resumed_runs as resume


@functools.cache
def uninterrupted():
    directory = jobs.WORK / "uninterrupted"
    ended = resume.run(directory, resume.cache())
    assert ended.codes == [0], ended.text
    steps = [line for line in resume.figures(directory) if "actor/pg_loss" in line]
    assert len(steps) == resume.STEPS and all(line["actor/grad_norm"] > 0 for line in steps)
    return directory


class Gpus(resume_test.BitForBit):
    test_killed_before_the_first_checkpoint = test_killed_twice = test_killed_at_random_moments = None
    test_what_was_judged_before_the_stop_is_not_judged_again = test_near_its_starting_weights = None
    test_killed_in_the_corpus_the_cold_start_and_the_evaluation = None

    def test_killed_anywhere(self):
        """Steps are so short that the first checkpoint may still be on its way: then all begins again, to the same end."""
        for place in ("rollout:kill@5", "update:kill@4"):
            with self.subTest(place):
                shutil.rmtree(self.dir, ignore_errors=True)
                words = resume.cache()
                self.expect_code(resume.run(self.dir, words, fault=place), -9)
                self.expect_code(resume.run(self.dir, words), 0)
                self.expect_like_uninterrupted()


class Ranks(resume_test.Ranks):
    def setUp(self):
        super().setUp()
        self.need(2)

    def need(self, count):
        if gpu.gpu_count() < count:
            self.skipTest(f"{gpu.gpu_count()} GPUs, {count} needed")

    def bit_for_bit(self, count, *words):
        self.need(count)
        super().bit_for_bit(count, *words)

    def test_two_then_three_that_are_killed_before_their_first_checkpoint(self):
        self.need(3)
        super().test_two_then_three_that_are_killed_before_their_first_checkpoint()

    def from_to(self, before, after, degree=0, stage=0):
        """Sums of bf16 products in another order round otherwise, and sooner or later another token is drawn."""
        self.need(max(before, after))
        words = [resume.cache()]
        self.expect_code(resume.run(self.dir, *words, f"model.shard_degree={degree}", f"model.zero_stage={stage}", count=before,
                                    fault="update:interrupt@3"), *[130] * before)
        self.assertEqual(len(resume.state(self.dir, 3)), before)
        text = self.expect_code(resume.run(self.dir, *words, count=after), *[0] * after)
        self.assertEqual(text.count("resumes after step 3"), 1, text)
        self.assertEqual(len(resume.state(self.dir)), after)
        steps = [line for line in resume.figures(self.dir) if "actor/pg_loss" in line]
        self.assertEqual([line["step"] for line in steps], list(range(1, resume.STEPS + 1)))
        self.assertEqual({line["rollout_corr/unequal_tokens"] for line in steps}, {0})


if __name__ == "__main__":
    jobs.BUILD = Path(sys.argv.pop(1)).resolve()
    if gpu.gpu_count() == 0:
        print("no GPU")
        sys.exit(77)
    jobs.WORK = Path(tempfile.mkdtemp(prefix="temper_resume_gpu_"))
    jobs.TINY = gpu.CONFIG
    for words in (resume.BASE, jobs.TAUGHT):
        words[:] = [word for word in words if not word.startswith("model.")]
    resume.uninterrupted = resume_test.uninterrupted = uninterrupted
    try:
        unittest.main(verbosity=2)
    finally:
        shutil.rmtree(jobs.WORK, ignore_errors=True)
