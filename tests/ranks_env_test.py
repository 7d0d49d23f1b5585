"""Ranks that judge for others: python3 tests/ranks_env_test.py build"""

import jobs
from jobs import TAUGHT, taught


class Judging(jobs.Ranks):
    def train(self, directory, count, judges, *words, of_rank=lambda rank: {}):
        return jobs.wait_all(jobs.start_temper(count, f"run.dir={directory}", f"model.path={taught()}", f"ranks.env={judges}",
                                               *TAUGHT, *words, of_rank=of_rank))

    def test_same_first_step(self):
        one = jobs.first_step(jobs.train_alone(f"model.path={taught()}", *TAUGHT, "rollout.turns=1"))
        for count, judges in ((2, 1), (3, 1), (3, 2)):
            directory = jobs.WORK / f"judged_{count}_{judges}"
            ended = self.train(directory, count, judges, "rollout.turns=1")
            self.assertEqual(set(ended.codes), {0}, ended.text)
            self.assertIn(f"{judges} judge{'' if judges == 1 else 's'} in other processes", ended.text)
            rows, step = jobs.first_step(directory)
            self.assertEqual(rows, one[0])
            self.assertGreater(step["env/correct"], 0)
            self.assertNotIn("env/verdict/INFRA", step)
        if jobs.have_mpi():
            directory = jobs.WORK / "judged_mpi"
            ended = jobs.run_mpi(3, *jobs.temper_words(f"run.dir={directory}", f"model.path={taught()}", "ranks.env=1",
                                                       *TAUGHT, "rollout.turns=1"))
            self.assertEqual(set(ended.codes), {0}, ended.text)
            self.assertEqual(jobs.first_step(directory)[0], one[0])

    def test_cold_start_and_evaluation(self):
        directory = jobs.WORK / "judged_cold"
        ended = jobs.wait_all(jobs.start_temper(2, f"run.dir={directory}", "ranks.env=1", "cold_start.max_seconds=1", "run.max_seconds=5"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        self.assertIn("corpus: 24 conversations", ended.text)
        ended = jobs.wait_all(jobs.start_temper(2, f"model.path={directory / 'checkpoints/final'}", "ranks.env=1", command="eval"))
        self.assertEqual(set(ended.codes), {0}, ended.text)

    def lose(self, fault, *texts):
        ended = self.train(jobs.WORK / "lost_judge", 3, 2, "run.steps=6", "ranks.silence_s=10",
                           of_rank=lambda rank: {"TEMPER_FAULT": fault} if rank == 1 else {})
        self.assertEqual([ended.codes[0], ended.codes[2]], [0, 0], ended.text)
        self.assertEqual(ended.text.count("; the others continue without it"), 1, ended.text)
        for text in ("rank 1 of 3 (host", *texts):
            self.assertIn(text, ended.text)
        steps = [line for line in jobs.json_lines(jobs.WORK / "lost_judge/metrics.jsonl") if "env/correct" in line]
        self.assertEqual(len(steps), 6)
        self.assertFalse([step for step in steps if "env/verdict/INFRA" in step])

    def test_the_others_go_on_without_a_judge(self):
        self.lose("judging round:kill@30", "was killed or crashed in judging for others")
        self.lose("judging round:throw@30", "this failure was asked for")
        self.lose("judging round:stop@30", "has given no sign of life for")

    def test_without_any_judge_all_end(self):
        ended = self.train(jobs.WORK / "no_judge", 2, 1, "run.steps=1000", of_rank=lambda rank: {"TEMPER_FAULT": "judging round:kill@30"} if rank else {})
        self.assertEqual(ended.codes[0], 3, ended.text)
        self.assertEqual(ended.text.count("no judge is left"), 1, ended.text)

    def test_somebody_must_hold_the_policy(self):
        ended = self.train(jobs.WORK / "none", 2, 2)
        self.assertEqual(ended.codes, [2, 2], ended.text)
        self.assertEqual(ended.text.count("ranks.env: 2 of 2 ranks judge"), 1, ended.text)
        ended = self.train(jobs.WORK / "none", 1, 1)
        self.assertEqual(ended.codes, [2], ended.text)


if __name__ == "__main__":
    jobs.run_tests("ranks_env")
