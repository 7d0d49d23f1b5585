"""What a policy is asked, and in whose words: python3 tests/prompts_test.py build"""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import jobs
from jobs import ROOT, json_lines, model, temper_words
from patience import PATIENCE_S

KNOWN = ["scale_rows_relu", "scale_columns_relu"]


def temper(*words):
    return subprocess.run([jobs.BUILD / "temper", *map(str, words)], capture_output=True, text=True, errors="replace", cwd=ROOT,
                          env=jobs.plain_environment(), timeout=PATIENCE_S * jobs.patient())


def job(command, *words):
    return temper(*temper_words(*words, command=command)[1:])


RELU = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return {"y": torch.relu(x)}["y"]

def get_inputs():
    return [torch.rand(16, 16384)]

def get_init_inputs():
    return []
"""


class Prompts(unittest.TestCase):
    def check(self, result, code, *texts):
        said = result.stdout + result.stderr
        self.assertEqual(result.returncode, code, said)
        for text in texts:
            self.assertIn(text, said)
        return result.stdout

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(dir=jobs.WORK))
        (self.dir / "problems/level1").mkdir(parents=True)
        (self.dir / "problems/level1/19_ReLU.py").write_text(RELU)
        self.problem = ["level1_19_relu", f"tasks.path={self.dir / 'problems'}"]

    def file(self, name, text):
        path = self.dir / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def messages(self, *words):
        line = json.loads(self.check(temper("tasks", *words, "--json"), 0))
        return [(m["role"], m["content"]) for m in line["messages"]]

    def own_words(self):
        self.file("first.txt", "Do {name} in {language}, {{fast}}:\n{problem}\n{signature}\n")
        self.file("later.txt", "{verdict} is what came of {name}.\n")
        return self.file("own.yaml", "rollout:\n  prompt:\n    system: 'You write {language}.'\n    first: first.txt\n"
                                     "    later: later.txt\n")

    def test_own_tasks(self):
        short = self.check(temper("tasks", "softmax_scaled", "--prompt"), 0)
        self.assertTrue(short.startswith("--- user\n"), short)
        self.assertNotIn("Write", short)
        self.assertEqual(len(self.messages("softmax_scaled", "--prompt")), 1)
        [(role, text)] = self.messages("softmax_scaled", "--prompt", "rollout.prompt.style=sentences")
        self.assertEqual(role, "user")
        self.assertIn("Write C++ code that computes the same", text)
        told = self.messages("softmax_scaled", "--verdict", "FAIL_INCORRECT", "rollout.prompt.style=sentences")
        self.assertEqual([role for role, _ in told], ["user", "assistant", "user"])
        self.assertIn("its outputs are wrong. The judge says:\n\nFAIL_INCORRECT", told[2][1])
        self.check(temper("tasks", "softmax_scaled", "--verdict", "PAS"), 2, "did you mean PASS?")

    def test_own_words_for_own_tasks(self):
        system, first = self.messages("softmax_scaled", "--prompt", "--config", self.own_words())
        self.assertEqual(system, ("system", "You write C++."))
        self.assertRegex(first[1], r"^Do softmax_scaled in C\+\+, \{fast\}:\n# x: float32 \[.*\]\n(.|\n)*def reference")
        self.assertTrue(first[1].endswith(")"), first)
        last = self.messages("softmax_scaled", "--verdict", "PASS", "--config", self.own_words())[-1]
        self.assertEqual(last[1], "PASS speedup 1.80 is what came of softmax_scaled.")

    def test_own_words_for_problems_in_pytorch(self):
        system, first = self.messages(*self.problem, "--prompt", "--config", self.own_words(), "rollout.prompt.kernels=triton")
        self.assertEqual(system, ("system", "You write Triton."))
        self.assertEqual(first[1], f"Do level1_19_relu in Triton, {{fast}}:\n{RELU.strip()}\nclass ModelNew(nn.Module):")
        [(_, plain)] = self.messages(*self.problem, "--prompt")
        self.assertEqual(plain, RELU + "\nclass ModelNew(nn.Module):")
        [(_, text)] = self.messages(*self.problem, "--prompt", "rollout.prompt.style=sentences")
        self.assertIn("Write `ModelNew`", text)

    def test_what_is_refused(self):
        own = self.own_words()
        refuse = lambda *texts: self.check(temper("tasks", "softmax_scaled", "--prompt", "--config", own), 2, *texts)
        self.file("first.txt", "{problem}\n{signatur}")
        refuse("own.yaml:4: rollout.prompt.first: ", "first.txt:2: {signatur} is no field; did you mean signature?",
               "there are {problem}, {signature}")
        self.file("first.txt", "{signature}")
        self.file("later.txt", "again")
        refuse("first.txt: has no {problem}", "later.txt: has no {verdict}")
        self.own_words()
        for bytes_, why in ((b"", "is empty"), (b"{problem}\xff", "is no UTF-8 in line 1"), (b"{problem}\0", "holds a NUL"),
                            (b"{problem}" + b"a" * 65536, "at most 65536 are read")):
            self.file("first.txt", bytes_)
            refuse(why)
        (self.dir / "first.txt").unlink()
        refuse("first.txt: no such file here, nor beside")

    def test_every_field_is_documented(self):
        page = (ROOT / "docs/how-to/prompts.md").read_text()
        self.file("later.txt", "{x}")
        said = temper("tasks", "softmax_scaled", "--prompt", f"rollout.prompt.later={self.dir / 'later.txt'}").stderr
        fields = re.findall(r"\{(\w+)\}", said.split("there are")[1].split(";")[0])
        self.assertGreater(len(fields), 10)
        self.assertEqual(sorted(fields), sorted(re.findall(r"^\| `\{(\w+)\}`", page, re.MULTILINE)))

    def test_the_language_of_problems_in_pytorch_is_named(self):
        self.check(temper("tasks", self.problem[1], "tasks.language=cpp"), 2, "take tasks.language=kernelbench")
        self.check(temper("train", ROOT / "configs/quickstart.yaml", "--dry-run", self.problem[1], "tasks.language=cpp"), 2,
                   "there are tasks in: kernelbench", "take tasks.language=kernelbench")

    def test_a_language_of_kernels_is_what_problems_in_pytorch_ask_for(self):
        words = ["--prompt", *self.problem, "rollout.prompt.rule=zero_shot"]
        for language, said in (("triton", "in Triton"), ("cuda", "in CUDA C++"), ("kernelbench", "in CUDA C++")):
            self.assertIn(f"kernels of your own {said}", temper("tasks", *words, f"tasks.language={language}").stdout)

    def test_a_models_own_text_and_tokens(self):
        words = ("softmax_scaled", "--prompt", f"model.path={model()}")
        line = json.loads(self.check(temper("tasks", *words, "--json", "--config", self.own_words()), 0))
        self.assertTrue(line["text"].startswith("<|im_start|>system\nYou write C++.<|im_end|>\n<|im_start|>user\nDo softmax_scaled"))
        self.assertTrue(line["text"].endswith("<|im_end|>\n<|im_start|>assistant\n"), line["text"])
        messages = json.dumps(line["messages"])
        ids = json.loads(self.check(temper("tokenize", "--model", model(), "--chat", "auto", messages), 0))
        self.assertEqual(line["tokens"], len(ids))

    def test_another_tokenizer_than_temper_trains_is_asked_in_sentences(self):
        words = ("softmax_scaled", "--prompt")
        self.assertEqual(self.messages(*words, f"model.path={model()}"), self.messages(*words))
        other = self.dir / "other"
        shutil.copytree(model(), other)
        config = json.loads((other / "tokenizer_config.json").read_text())
        del config["chat_template"]
        (other / "tokenizer_config.json").write_text(json.dumps(config))
        sentences = self.messages(*words, "rollout.prompt.style=sentences")
        self.assertEqual(self.messages(*words, f"model.path={other}"), sentences)
        plan = self.check(job("train", "--dry-run", f"model.path={other}", "run.steps=0"), 0)
        self.assertIn("style: sentences", plan)
        self.assertIn("style: short", self.check(job("train", "--dry-run"), 0))

    def test_a_run_keeps_its_words(self):
        self.own_words()
        run = self.dir / "run"
        words = lambda *more: job("train", f"run.dir={run}", "run.overwrite=false", "eval.before=false", "eval.samples=1",
                                  *(f"rollout.prompt.{name}={self.dir / name}.txt" for name in ("first", "later")), *more)
        self.check(words("run.steps=1"), 0, "prompts: own words in rollout.prompt.first")
        self.assertEqual((run / "prompt/first.txt").read_text(), (self.dir / "first.txt").read_text())
        shown = self.check(temper("show", run, 1, "--limit", 1), 0)
        self.assertRegex(shown, r"Do scale_\w+_relu in C\+\+, \{fast\}:")
        self.assertRegex(shown, r"is what came of scale_\w+_relu\.")
        self.file("first.txt", "Do {name} in {language}, {{fast}}:\n{problem}\nnow {signature}\n")
        self.check(words("run.steps=2"), 2, "first.txt is not what the run began with: line 3 is 'now {signature}', was '{signature}'")
        self.check(words("run.steps=2", f"rollout.prompt.first={run}/prompt/first.txt"), 0, "resumes after step 1")

    def test_traces_are_asked_as_rollouts_are(self):
        self.own_words()
        for words in ((), ("rollout.prompt.style=sentences",), (f"rollout.prompt.first={self.dir}/first.txt",)):
            out = self.dir / "traces.jsonl"
            said = self.check(job("collect", "--traces", "--out", out, *words), 0)
            self.assertEqual("short form of new policies" in said, "style" not in "".join(words), said)
            asked = {name: self.messages(name, "--prompt", *words)[0][1] for name in KNOWN}
            rows = [row for row in json_lines(out) if row["task"] in KNOWN]
            self.assertGreater(len(rows), 0)
            for row in rows:
                self.assertEqual(row["messages"][0]["content"], asked[row["task"]])


if __name__ == "__main__":
    jobs.run_tests("prompts")
