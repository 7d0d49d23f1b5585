"""What people type, wrongly or as they are used to, and what they are told: python3 tests/typed_test.py build/temper"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from pathlib import Path

import cli_test
from cli_test import Program, tasks, temper, tiny_config

ROOT = Path(__file__).resolve().parent.parent


def dry(*words):
    return temper("train", tiny_config(), "--dry-run", *words)


class Commands(Program):
    def test_unknown_ones(self):
        self.check(temper("trian", "x.yaml"), 2, "trian: unknown command of temper; did you mean train?")
        self.check(temper("bench", "trian"), 2, "trian: unknown command of temper bench; did you mean train?")
        self.check(temper("xyzzy"), 2, "xyzzy: unknown command of temper; `temper --help` lists them")
        self.check(temper("bench"), 2, "temper bench: a command is needed, one of train, decode, ")
        self.check(temper("train"), 2, "RUN.yaml is required; `temper train --help`")
        self.check(temper("train", "--dry-rn", "x.yaml"), 2, "--dry-rn: unknown option of temper train; did you mean --dry-run?")
        self.check(temper("show", "--foo", "x"), 2, "--foo: unknown option of temper show; `temper show --help` lists them")

    def test_values_out_of_range(self):
        self.check(temper("bench", "train", "--batch", 0), 2, "--batch: '0' is not allowed: must be at least 1")
        self.check(temper("bench", "train", "--seconds", -1), 2, "must be above 0")
        self.check(temper("generate", "--model", "x", "--top-p", 2, "hello"), 2, "'2' is not allowed: must be 0 to 1")
        self.check(temper("collect", "x.yaml", "--out", "y", "--keep", "fst"), 2, "must be one of passes, fast, shortest; did you mean fast?")

    def test_paths_that_begin_with_a_home(self):
        home = cli_test.WORK / "home"
        home.mkdir()
        env = {**os.environ, "HOME": str(home)}
        (home / "run.yaml").write_text(Path(tiny_config()).read_text())
        for words in (("train", "~/run.yaml", "--dry-run", "model.path=~/none"), ("generate", "--model=~/none", "x"),
                      ("export", "~/none", "out"), ("logprobs", "--model", "~/none", "-"), ("show", "~/none"),
                      ("report", "~/none"), ("tokenize", "--model", "~/none", "x"), ("bench", "weights", "~/none")):
            self.check(temper(*words, env=env), 2, f"{home}/none")
        self.check(temper("show", "~no one/x"), 2, "'~no one/x': there is no user no one on this machine; ./~no one names")

    def test_version(self):
        said = self.check(temper("--version"), 0, "temper ", "commit ", "compiler ", "flags ", "torch ", "driver ")
        self.assertEqual(said, self.check(temper("version"), 0))
        facts = json.loads(self.check(temper("version", "--json"), 0))
        commit = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
        if commit.returncode == 0:
            self.assertRegex(facts["commit"], "^[0-9a-f]{12}(, changed since)?$")
        self.assertRegex(facts["version"], r"^\d+\.\d+\.\d+$")

    def test_tasks(self):
        lines = self.check(temper("tasks"), 0).splitlines()
        self.assertGreater(len(lines), 100)
        self.assertTrue(any(re.fullmatch(r"gpu_gelu +cuda +\w+ +(train|held out)", line) for line in lines))
        held_out = self.check(temper("tasks", "heldout", "cpp"), 0).splitlines()
        self.assertTrue(held_out)
        for line in held_out:
            self.assertRegex(line, " cpp .* held out$")
        rows = [json.loads(line) for line in self.check(temper("tasks", "SOFTMAX", "--json"), 0).splitlines()]
        self.assertTrue(rows and all("softmax" in row["name"] + row["family"] for row in rows))
        self.assertEqual(set(rows[0]), {"name", "language", "family", "split"})
        name = tasks("train", 1)[0]
        self.check(temper("tasks", name[:-1] + "xx"), 2, "none of the", f"did you mean {name}")
        self.check(temper("tasks", "tasks.path=/nowhere"), 2, "tasks '/nowhere': no such file or folder")

    def test_options_are_searched(self):
        self.assertNotIn("cold_start", self.check(temper("options", "optimizer"), 0, "optimizer.lr=", "optimizer.clip="))
        self.assertIn("cold_start.optimizer.lr=", self.check(temper("options", "LR"), 0, "  optimizer.lr="))
        self.check(temper("options", "discount"), 0, "returns.discount=")
        self.check(temper("options", "learning_rate"), 2, "here it is optimizer.lr")
        self.check(temper("options", "qqqq"), 2, "'qqqq' is in no option's name or help")

    def test_doctor(self):
        result = temper("doctor", "--json")
        found = json.loads(self.check(result, 0))
        self.assertTrue(found["ready"])
        states = {check["name"]: check["state"] for check in found["checks"]}
        for name in ("C++ compiler", "sandbox", "memory", "disk", "tasks"):
            self.assertEqual(states[name], "works", found)
        self.assertLessEqual({"nvcc", "NVIDIA driver", "GPUs", "NCCL", "CUPTI", "limits", "locks", "program"}, set(states))
        said = self.check(temper("doctor"), 0, "The main job runs here", "model DIR")
        self.assertIn("a right answer is judged right", " ".join(said.split()))
        gone = {**os.environ, "PATH": "/nowhere", "CXX": ""}
        said = self.check(temper("doctor", env=gone), 3, "does not run here")
        self.assertRegex(said, r"FAILS +C\+\+ compiler +no C\+\+ compiler")


class Help(Program):
    COMMANDS = ("train", "eval", "collect", "judge", "tasks", "generate", "model", "tokenize", "logprobs", "export", "show",
                "report", "sweep", "options", "doctor", "version", "bench")

    def test_it_is_short_and_fits(self):
        for words in ([], *([command] for command in self.COMMANDS), ["bench", "train"], ["bench", "judge"]):
            with self.subTest(words):
                said = self.check(temper(*words, "--help"), 0)
                self.assertEqual(said, self.check(temper("help", *words), 0))
                self.assertLess(said.count("\n"), 75)
                for line in said.splitlines():
                    self.assertLessEqual(len(line), 100, line)

    def test_all_of_it(self):
        short, whole = (self.check(temper("train", flag), 0) for flag in ("--help", "--help-all"))
        self.assertNotIn("ranks.check_every", short)
        for text in ("ranks.check_every=", "optimizer.lr=", "--dry-run"):
            self.assertIn(text, whole)
        self.check(temper("--help-all"), 0, "temper bench decode", "ranks.check_every=", "--max-tokens")

    def test_defaults_and_ranges(self):
        self.check(temper("generate", "--help"), 0, "default: 256; at least 1", "default: auto")
        said = self.check(temper("bench", "train", "--help"), 0, "default: 16; at least 1", "default: 5; above 0")
        self.assertNotIn("0000000000", said)
        said = self.check(temper("show", "--help"), 0, "default: 3, with --json all")
        self.assertNotIn("default: 0", said)

    def test_narrow_terminals(self):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
        process = subprocess.Popen([cli_test.TEMPER, "show", "--help"], stdout=theirs, cwd=ROOT)
        os.close(theirs)
        said = b""
        try:
            while chunk := os.read(ours, 4096):
                said += chunk
        except OSError:  # the other end is closed
            pass
        self.assertEqual(process.wait(), 0)
        lines = said.decode().splitlines()
        self.assertTrue(any(len(line) > 60 for line in lines))
        for line in lines:
            self.assertLessEqual(len(line), 70, line)


class Options(Program):
    def test_dashes_are_as_good(self):
        plain = self.check(dry("run.steps=5", "rollout.stop_on_pass=true", "rollout.top_k=7"), 0, "steps: 5", "stop_on_pass: true")
        for words in (["--run.steps=5", "--rollout.stop_on_pass", "--rollout.top-k", 7],
                      ["run.steps=3", "--run.steps=5", "--rollout.stop_on_pass=true", "rollout.top_k=7"],
                      ["--run.steps=3", "run.steps=5", "--rollout.stop_on_pass", "yes", "--rollout.top_k=7"]):
            with self.subTest(words):
                self.assertEqual(self.check(dry(*words), 0), plain)
        in_front = temper("train", "--run.steps=5", "--rollout.top_k", 7, "--rollout.stop_on_pass", tiny_config(), "--dry-run")
        self.assertEqual(self.check(in_front, 0), plain)
        self.check(dry("--run.steps"), 2, "--run.steps: takes a value")
        self.check(dry("--run.stepz=5"), 2, "run.stepz: unknown option; did you mean run.steps?")
        self.check(temper("tasks", "--tasks.path=/nowhere"), 2, "/nowhere")
        self.check(temper("generate", "--model", "x", "--task", "y", "--tasks.pathh=z"), 2)

    def test_values_as_in_python(self):
        for word, text in (("rollout.stop_on_pass=True", "stop_on_pass: true"), ("rollout.stop_on_pass=yes", "stop_on_pass: true"),
                           ("run.steps=1e3", "steps: 1000"), ("run.steps=1_000", "steps: 1000"),
                           (f"tasks.names={tasks('train', 1)[0]}", f"names: [{tasks('train', 1)[0]}]")):
            with self.subTest(word):
                self.check(dry(word, *(["rollout.tasks_per_step=1", "eval.split=train"] if "names" in word else [])), 0, text)

    def test_names_of_other_programs(self):
        for theirs, ours in (("learning_rate", "optimizer.lr"), ("optimizer.learning_rate", "optimizer.lr"),
                             ("num_generations", "rollout.samples_per_task"), ("group_size", "rollout.samples_per_task"),
                             ("kl_coef", "loss.kl_coefficient"), ("algorithm.kl_ctrl.kl_coef", "loss.kl_coefficient"),
                             ("max_steps", "run.steps"), ("beta", "loss.kl_coefficient"),
                             ("per_device_train_batch_size", "learner.micro_batch_tokens"),
                             ("max_completion_length", "rollout.max_response_tokens"), ("rollout.n", "rollout.samples_per_task"),
                             ("actor_rollout_ref.rollout.n", "rollout.samples_per_task"),
                             ("actor_rollout_ref.actor.ppo_mini_batch_size", "learner.updates_per_batch"),
                             ("actor_rollout_ref.model.path", "model.path")):
            with self.subTest(theirs):
                self.check(dry(f"{theirs}=1"), 2, f"command line: {theirs}: unknown option; here it is {ours}")
                self.check(dry(f"--{theirs}", 1), 2, f"here it is {ours}")
        self.check(dry("--learning-rate", "1e-5"), 2, "--learning-rate: unknown option of temper train; here it is optimizer.lr")
        self.check(dry("actor_rollout_ref.actor.optim.lr=1"), 2, "did you mean optimizer.lr or cold_start.optimizer.lr?")
        path = cli_test.WORK / "verl.yaml"
        path.write_text("actor_rollout_ref:\n  rollout:\n    n: 8\ntrainer:\n  total_epochs: 3\n")
        self.check(temper("train", path, "--dry-run"), 2, "verl.yaml:3: actor_rollout_ref.rollout.n: unknown option; here it is",
                   "verl.yaml:5: trainer.total_epochs: unknown option; here it is run.steps")

    def test_suggestions_are_near(self):
        self.check(dry("lr=1"), 2, "lr: unknown option; did you mean optimizer.lr or cold_start.optimizer.lr?")
        self.check(dry("--seed", 5), 2, "did you mean run.seed?")
        path = cli_test.WORK / "anchors.yaml"
        path.write_text("a: &a {lr: 0.5}\noptimizer:\n  <<: *a\n")
        said = temper("train", path, "--dry-run")
        self.check(said, 2, "anchors.yaml:1: a: unknown option")
        self.assertNotIn("did you mean", said.stderr)
        self.assertNotIn("<<", said.stderr)
        path.write_text(cli_test.TINY + "optimizer: &o {lr: 0.5, clip: 2}\ncold_start:\n  optimizer: {<<: *o, clip: 3}\n")
        path.write_text(path.read_text().replace("cold_start: {epochs: 1, batch_tokens: 2048}\n", ""))
        out = self.check(temper("train", path, "--dry-run"), 0)
        self.assertEqual((out.count(" lr: 0.5\n"), out.count(" clip: 3\n"), out.count(" clip: 2\n")), (2, 1, 1))

    def test_tabs(self):
        path = cli_test.WORK / "tabs.yaml"
        path.write_text("run:\n\tsteps: 5\n")
        self.check(temper("train", path, "--dry-run"), 2, "tabs.yaml:2: not valid YAML: a tab cannot indent a line; use spaces")

    def test_configs_from_a_pipe(self):
        command = f"{cli_test.TEMPER} train <(cat {tiny_config()}) --dry-run run.dir={cli_test.WORK}/piped"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
        self.check(done, 0, "steps: 2")

    def test_names_of_tasks_and_models(self):
        name = tasks("train", 1)[0]
        self.check(dry(f"tasks.names=[{name[:-1]}]"), 2, f"task '{name[:-1]}' is unknown; did you mean", name, "`temper tasks`")
        self.check(dry("tasks.names=[qqqq]"), 2, "task 'qqqq' is unknown; `temper tasks` lists the")
        self.check(dry("model.path=Qwen/Qwen3-8B"), 2, "hf download Qwen/Qwen3-8B --local-dir models/Qwen3-8B")
        self.check(temper("tokenize", "--model", "Qwen/Qwen3-8B", "x"), 2, "hf download Qwen/Qwen3-8B")
        self.check(dry("model.path=models/Qwen3-8B"), 2, "hf download ORGANISATION/Qwen3-8B --local-dir models/Qwen3-8B`")
        self.check(dry("run.name=../../escape"), 2, "run.name: '../../escape' is not allowed: must be one part of a path")
        said = temper("tasks", "tasks.path=configs")
        self.check(said, 2, "further problems")
        self.assertEqual(len(said.stderr.splitlines()), 11)
        folder = cli_test.WORK / "gemma"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text('{"model_type": "gemma3", "rope_scaling": {"a": 1}}')
        self.check(dry(f"model.path={folder}"), 2, 'model_type = "gemma3" is not supported: must be one of qwen3')

    def test_a_file_is_no_run(self):
        self.check(temper("report", "README.md"), 2, "README.md: is a file, not a run directory")

    def test_tasks_are_found_from_elsewhere(self):
        elsewhere = cli_test.WORK / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        done = subprocess.run([cli_test.TEMPER, "tasks"], capture_output=True, text=True, cwd=elsewhere)
        self.assertEqual(done.stdout, self.check(temper("tasks"), 0))
        self.check(done, 0)
        done = subprocess.run([cli_test.TEMPER, "train", tiny_config(), "--dry-run"], capture_output=True, text=True, cwd=elsewhere)
        self.check(done, 0, "path: env/tasks")


if __name__ == "__main__":
    cli_test.TEMPER = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory(prefix="temper_typed_") as work:
        cli_test.WORK = Path(work)
        unittest.main(verbosity=2)
