"""Samples, keeps what passes, learns it, samples again, by the built program: python3 tests/collect_test.py build"""

import gzip
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import jobs
from jobs import TAUGHT, json_lines, taught, temper_words


# One that the grammar has no conversations for.
OWN_TASK = ("- {name: my_add, reference: x + y, inputs: {x: [n], y: [n]}, outputs: {z: [n]}, check: [{n: 3}, {n: 17}], "
            "timed: {n: 65536}}\n")


def temper(command, *words):
    done = subprocess.run([*map(str, temper_words(*TAUGHT, *words, command=command))], capture_output=True, text=True,
                          env=jobs.plain_environment(), cwd=jobs.ROOT)
    return done.returncode, done.stdout + done.stderr


class CollectTrainCollect(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(dir=jobs.WORK))

    def expect(self, code, command, *words):
        found, text = temper(command, *words)
        self.assertEqual(found, code, text)
        return text

    def learn(self, data, *words, code=0):
        return self.expect(code, "train", f"run.dir={self.dir / 'run'}", f"model.path={taught()}", f"cold_start.data={data}",
                           "run.steps=0", *words)

    def test_three_commands(self):
        first, second = self.dir / "first.jsonl", self.dir / "second.jsonl"
        text = self.expect(0, "collect", f"model.path={taught()}", "--out", first, "--samples", "8")
        self.assertIn("16 conversations sampled", text)
        rows = json_lines(first)
        self.assertTrue({row["task"] for row in rows} <= {"scale_rows_relu", "scale_columns_relu", "scale_shift_relu"})
        for row in rows:
            self.assertEqual([m["role"] for m in row["messages"]][:2], ["user", "assistant"])
            self.assertIn("```cpp", row["messages"][-1]["content"])
            self.assertGreater(row["speedup"], 0)
            self.assertEqual(row["seed"], 3)
        self.learn(first, "cold_start.epochs=6", "cold_start.optimizer.lr=1e-3")
        loss = [line["cold_start/loss"] for line in json_lines(self.dir / "run/metrics.jsonl") if "cold_start/loss" in line]
        self.assertLess(loss[-1], loss[0])
        self.expect(0, "collect", f"model.path={self.dir / 'run/checkpoints/cold_start'}", "--out", second, "--keep", "shortest",
                    "--samples", "8")
        tasks = [row["task"] for row in json_lines(second)]
        self.assertEqual(len(tasks), len(set(tasks)))

    def test_from_a_checkpoint(self):
        data = self.dir / "data.jsonl"
        data.write_text(json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}) + "\n")
        self.learn(data, "cold_start.epochs=1", "cold_start.optimizer.lr=1e-9")
        words = [f"model.path={self.dir / 'run/checkpoints/step_000000'}", "--samples", "4", "--keep", "fast"]
        self.expect(0, "collect", *words, "--min-speedup", "0.01", "--per-task", "1", "--out", self.dir / "out.jsonl")
        self.assertLessEqual(len(json_lines(self.dir / "out.jsonl")), 2)
        text = self.expect(1, "collect", *words, "--min-speedup", "1000", "--out", self.dir / "none.jsonl")
        self.assertIn("nothing is kept", text)
        self.assertFalse((self.dir / "none.jsonl").exists())
        text = self.expect(2, "collect", *words, "--out", self.dir / "missing/out.jsonl")
        self.assertIn("which is not a folder", text)

    def test_the_grammars_conversations_may_be_none(self):
        tasks, out = self.dir / "own.yaml", self.dir / "none.jsonl"
        tasks.write_text(OWN_TASK)
        text = self.expect(1, "collect", "--traces", "--out", out, f"tasks.path={tasks}", "tasks.names=[]")
        self.assertIn("nothing is kept", text)
        self.assertFalse(out.exists())
        self.expect(0, "collect", "--traces", "--out", out, "traces.conversations=4")
        self.assertGreater(len(json_lines(out)), 0)

    def test_a_plan_says_what_the_data_are(self):
        data = self.dir / "data"
        data.mkdir()
        share = {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "bc"}]}
        long = {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "word " * 2000}]}
        (data / "a.json.gz").write_bytes(gzip.compress(json.dumps([share, long, share], indent=1).encode()))
        (data / "b.jsonl").write_text('{"instruction": "a", "input": "", "output": "b"}\n')
        (data / "notes.txt").write_text("words")
        line = (f"data: 3 conversations from {data} (2 files), ShareGPT (conversations: from, value) in a.json.gz, "
                "alpaca (instruction, input on a line of its own, output) in b.jsonl; "
                "left out: 1 longer than 1024 tokens, notes.txt\n")
        text = self.learn(data, "--dry-run")
        self.assertIn(line, text)
        self.assertIn("data: the first conversation, in characters: user 1, assistant 2*; what has a * is learned\n", text)
        self.assertFalse((self.dir / "run").exists())
        self.assertIn(line, self.learn(data, "cold_start.epochs=1", "cold_start.optimizer.lr=1e-9"))

    def test_fields_of_ones_own(self):
        data = self.dir / "data.jsonl"
        data.write_text(json.dumps({"prompt": [{"role": "user", "content": "a"}], "extra_info": {"answer": "b"}}) + "\n")
        self.assertIn(f"{data}:1: it has no form that is known", self.learn(data, "--dry-run", code=2))
        text = self.learn(data, "--dry-run", "cold_start.fields.completion=extra_info.answer")
        self.assertIn(f"data: 1 conversations from {data}, prompt + completion (prompt, extra_info.answer)\n", text)
        text = self.learn(data, "--dry-run", "cold_start.fields.completion=extra_info.answers", code=2)
        self.assertIn(f"{data}:1: it has no field extra_info.answers, which cold_start.fields.completion names; "
                      "its fields are extra_info.answer, prompt", text)
        text = self.learn(data, "--dry-run", "cold_start.fields.completion=x", "cold_start.fields.messages=y", code=2)
        self.assertIn("cold_start.fields.messages: ", text)

    def test_a_broken_line_is_named_before_anything_is_begun(self):
        data = self.dir / "data.jsonl"
        good = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
        bad = {"messages": [{"role": "bot", "content": "a"}]}
        data.write_text(json.dumps(good) + "\n" + json.dumps(bad) + "\n")
        self.assertIn(f"{data}:2: message 1: role is 'bot': must be system, user (human) or assistant (gpt)", self.learn(data, code=2))
        good["messages"][1]["content"] = "word " * 2000
        data.write_text(json.dumps(good) + "\n")
        self.assertRegex(self.learn(data, code=2), rf"{data}:1: the conversation has \d+ tokens: must have at most 1024")
        self.assertRegex(self.learn(data, "cold_start.max_tokens=100", code=2), "must have at most 100")
        self.assertIn("no such file", self.learn(self.dir / "nowhere.jsonl", code=2))
        self.assertFalse((self.dir / "run").exists())


if __name__ == "__main__":
    jobs.run_tests("collect")
