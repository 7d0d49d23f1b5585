"""Drives the built program as a user does: python3 tests/cli_test.py build/temper"""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import attack_files
from attack_cases import good_files
from patience import PATIENCE_S, comes_true

ROOT = Path(__file__).resolve().parent.parent
TEMPER = ""
WORK = Path()
DEEP = "[" * 100_000 + "]" * 100_000

# The whole job in seconds: two tasks to learn from, one held out.
TINY = """
run: {seed: 3, steps: 2}
model: {vocab_size: 512, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2, num_attention_heads: 2,
        num_key_value_heads: 1, head_dim: 16, max_position_embeddings: 1024}
env: {min_pairs: 5, max_pairs: 5}
traces: {conversations: 24}
cold_start: {epochs: 1, batch_tokens: 2048}
rollout: {tasks_per_step: 2, samples_per_task: 2, turns: 2, max_response_tokens: 48, max_context_tokens: 1024}
eval: {samples: 2}
"""


def temper(*words, stdin="", env=None, timeout=PATIENCE_S):
    return subprocess.run([TEMPER, *map(str, words)], input=stdin, capture_output=True, text=True,
                          errors="replace", cwd=ROOT, env=env, timeout=timeout)


def tasks(split, count):
    """Names of the first tasks of a split."""
    names = []
    for line in (ROOT / "env/tasks/cpp/elementwise.yaml").read_text().splitlines():
        words = line.strip(" -").split(": ")
        if words[0] == "name":
            names.append([words[1], "train"])
        if words[0] == "split":
            names[-1][1] = words[1]
    return [name for name, its in names if its == split][:count]


def tiny_config():
    path = WORK / "tiny.yaml"
    names = ", ".join(tasks("train", 2) + tasks("heldout", 1))
    path.write_text(TINY + f"tasks: {{names: [{names}]}}\n")
    return path


class Program(unittest.TestCase):
    def check(self, result, code, *texts):
        said = result.stdout + result.stderr
        self.assertEqual(result.returncode, code, said)
        for text in texts:
            self.assertIn(text, said)
        return result.stdout


class BadInput(Program):
    def config(self, text):
        path = WORK / "bad.yaml"
        path.write_text(text)
        return path

    def test_every_problem_with_its_line(self):
        path = self.config("run:\n  steps: many\noptimiser:\n  lr: 1\nrollout:\n  top_k: -1\n")
        self.check(temper("train", path, "run.sede=1"), 2, "bad.yaml:2: run.steps: 'many' is not an integer",
                   "bad.yaml:3: optimiser: unknown option; did you mean optimizer?",
                   "bad.yaml:6: rollout.top_k: '-1' is not allowed: must be at least 0",
                   "command line: run.sede: unknown option; did you mean run.seed?")

    def test_contradictions(self):
        self.check(temper("train", self.config("rollout: {max_response_tokens: 900, max_context_tokens: 800}")), 2,
                   "rollout.max_context_tokens: 800 leaves no room")
        self.check(temper("train", self.config("model: {num_attention_heads: 3, num_key_value_heads: 2}")), 2,
                   "model.num_key_value_heads")
        self.check(temper("train", tiny_config(), "rollout.tasks_per_step=9"), 2, "9 is more than the 2 tasks to learn from")

    def test_command_line(self):
        self.check(temper(), 2, "temper: a command is needed, one of train, eval, ")
        self.check(temper("train", "/nowhere.yaml"), 2, "/nowhere.yaml: cannot be read")
        self.check(temper("train", WORK), 2, f"config {WORK}: is a folder")
        self.check(temper("train", self.config("run: [")), 2, "bad.yaml:1: not valid YAML")

    def test_task_files(self):
        text = (ROOT / "env/tasks/cpp/elementwise.yaml").read_text()
        path = WORK / "tasks.yaml"
        path.write_text(text.replace("inputs: {x: [n, m]", "inputs: {x: [n, q]", 1))
        self.check(temper("train", tiny_config(), f"tasks.path={path}"), 2, "tasks.yaml:", "q")
        self.check(temper("train", tiny_config(), "tasks.names=[no_such_task]"), 2, "no_such_task")
        self.check(temper("train", tiny_config(), "tasks.path=/nowhere"), 2, "/nowhere")

    def test_reference_that_does_not_compile(self):
        run, name = WORK / "no_reference", tasks("train", 1)[0]
        path = WORK / "tasks.yaml"
        text = (ROOT / "env/tasks/cpp/elementwise.yaml").read_text()
        path.write_text(text.replace("reference: torch.", "reference: torch.no_such_", 1))
        self.check(temper("train", tiny_config(), f"tasks.path={path}", f"run.dir={run}"), 2, name, "no_such_")
        self.assertFalse(run.exists())

    def in_namespaces(self, script, *words):
        """Runs the shell's script as root of namespaces of its own, the program as $0 and the words as $@."""
        result = subprocess.run(["unshare", "-rm", "sh", "-c", script, TEMPER, *map(str, words)], capture_output=True,
                                text=True, cwd=ROOT, timeout=PATIENCE_S)
        if "unshare:" in result.stderr or "mount:" in result.stderr or "Permission denied" in result.stderr:
            self.skipTest("no permission: " + result.stderr)
        return result

    def test_full_disk(self):
        disk = WORK / "disk"
        disk.mkdir()
        result = self.in_namespaces(f'mount -t tmpfs -o size=400k none {disk} && exec "$0" "$@"',
                                    "train", tiny_config(), f"run.dir={disk}/run")
        self.check(result, 3, "MiB free; make room")

    def test_disk_that_fills_up(self):
        disk, left = WORK / "filling", WORK / "left"
        disk.mkdir()
        result = self.in_namespaces(
            f"""mount -t tmpfs -o size=80m none {disk} || exit 1
            "$0" "$@" &
            while kill -0 $! && [ ! -e {disk}/run/trajectories/step_000002.safetensors ]; do sleep 0.1; done
            dd if=/dev/zero of={disk}/fill bs=4k 2>/dev/null
            wait $!
            code=$?
            cp -r {disk}/run {left}
            exit $code""",
            "train", tiny_config(), f"run.dir={disk}/run", "run.steps=100000", "eval.before=false")
        self.check(result, 3, f"cannot write {disk}/run/", "No space left on device")
        for line in (left / "metrics.jsonl").read_text().splitlines():
            json.loads(line)
        names = [path.name for path in (left / "checkpoints").iterdir()]
        self.assertIn("cold_start", names)
        self.assertTrue(all(name == "cold_start" or re.fullmatch(r"step_\d{6}", name) for name in names), names)

    def test_no_namespaces(self):
        run = WORK / "no_namespaces"
        for limit, gone, advice in (("pid", "", "the limit on namespaces is reached"),
                                    ("user", "setpriv --bounding-set=-all --inh-caps=-all", "user.max_user_namespaces=10000")):
            with self.subTest(limit):
                result = self.in_namespaces(f'echo 0 >/proc/sys/user/max_{limit}_namespaces && exec {gone} "$0" "$@"',
                                            "train", tiny_config(), f"run.dir={run}")
                self.check(result, 3, "cannot make a sandbox's namespaces", advice)
                self.assertFalse(run.exists())

    def test_run_directories(self):
        used = WORK / "mine"
        used.mkdir()
        (used / "thesis.txt").write_text("mine")
        self.check(temper("train", tiny_config(), f"run.dir={used}", "run.overwrite=true"), 2, str(used))
        self.assertTrue((used / "thesis.txt").exists())
        self.check(temper("train", tiny_config(), "run.dir=/proc/temper"), 3, "/proc/temper")

    def test_missing_compiler_leaves_no_run(self):
        run = WORK / "no_compiler"
        empty = WORK / "empty_path"
        empty.mkdir()
        env = {**os.environ, "PATH": str(empty)}
        env.pop("CXX", None)
        self.check(temper("train", tiny_config(), f"run.dir={run}", env=env), 3, "compiler")
        self.assertFalse(run.exists())

    def test_dry_run_refuses_what_a_run_would_refuse(self):
        tasks_file = WORK / "mine.yaml"
        text = (ROOT / "env/tasks/cpp/elementwise.yaml").read_text()
        dry = ("train", ROOT / "configs/quickstart.yaml", "--dry-run", "rollout.tasks_per_step=1")
        held_out = ", ".join(tasks("heldout", 2))
        self.check(temper(*dry, f"tasks.names=[{held_out}]"), 2, "is train", "nothing to be taught on")
        tasks_file.write_text(text.replace("reference: torch.", "reference: torch.no_such_", 1))
        self.check(temper(*dry, f"tasks.path={tasks_file}"), 2, "no_such_")
        empty = WORK / "empty_model"
        empty.mkdir()
        self.check(temper(*dry, f"model.path={empty}"), 2, "empty_model: is empty")

    def test_too_large_a_model_is_refused(self):
        result = temper("train", tiny_config(), "model.hidden_size=65536", "model.intermediate_size=262144",
                        "model.num_hidden_layers=512", "--dry-run")
        self.check(result, 2, "are available", "choose a smaller model")


class Whole(Program):
    """One small run, and everything that works on what it left."""

    @classmethod
    def setUpClass(cls):
        cls.run_dir = WORK / "run"
        cls.result = temper("train", tiny_config(), f"run.dir={cls.run_dir}")
        cls.model = cls.run_dir / "checkpoints/final"

    def test_train(self):
        out = self.check(self.result, 0, "step   1/2", "step   2/2", "rollout_corr/kl", "before, turn 1",
                         "after, greedy", str(self.model))
        self.assertIn("judge: sandbox", out)
        lines = [json.loads(line) for line in (self.run_dir / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual(lines[0]["start"], json.loads((self.run_dir / "run.json").read_text()))
        self.assertIn(f"train {WORK / 'tiny.yaml'}", lines.pop(0)["start"]["command"])
        cold_start = [line for line in lines if "cold_start/loss" in line]
        lines = [line for line in lines if line not in cold_start]
        self.assertEqual([line["step"] for line in lines], [0, 1, 2, 2])
        for name in ("critic/rewards/mean", "actor/entropy", "actor/grad_norm", "timing_s/gen", "env/correct"):
            self.assertIn(name, lines[1])
        self.assertLess(abs(lines[1]["rollout_corr/kl"]), 1e-5)
        self.assertEqual([line["step"] for line in cold_start], [*range(1, len(cold_start) + 1)])
        self.assertLess(cold_start[-1]["cold_start/loss"], cold_start[0]["cold_start/loss"])
        self.assertEqual(cold_start[-1]["cold_start/progress"], 1)
        self.assertGreater(cold_start[-1]["cold_start/tokens"], cold_start[0]["cold_start/tokens"])
        self.assertGreater(cold_start[0]["cold_start/lr"], 0)
        self.assertEqual(len(list(self.run_dir.glob("events.out.tfevents.*"))), 1)

    def test_saved_config_gives_the_same_config(self):
        saved = self.run_dir / "config.yaml"
        out = self.check(temper("train", saved, "--dry-run"), 0, "memory", "headroom", "a step, at most")
        self.assertTrue(out.startswith(saved.read_text()))

    def test_used_directory_is_refused(self):
        self.check(temper("train", tiny_config(), f"run.dir={self.run_dir}", "optimizer.lr=1e-5"), 2,
                   "holds a run of another config: optimizer.lr is 1e-05", "run.overwrite=true")
        self.assertTrue(self.model.exists())

    def test_tokenize_there_and_back(self):
        text = "for (int i = 0; i < n; ++i) {\n\ty[i] = x[i];  // ünï<|im_end|>\n}\n"
        ids = self.check(temper("tokenize", "--model", self.model, text), 0)
        self.assertEqual(self.check(temper("tokenize", "--model", self.model, "--decode", stdin=ids), 0), text)
        for ids, word in (("[99999]", "99999"), ("[-1]", "-1"), ("[1, 2.5]", "2.5"), ("[1e300]", "1e+300"), ("[4294967301]", "4294967301"),
                          ("[[1]]", "[1]"), ('["5"]', '"5"')):
            self.check(temper("tokenize", "--model", self.model, "--decode", ids), 2, f"{word} is not a token id: 0 to ")
        for words in (["--decode"], ["--chat", "chatml"]):
            for text in ("nonsense", "{}", f"[{DEEP}]", f'[{{"role": {DEEP}, "content": "x"}}]', f'[{{"role": "user", "content": {DEEP}}}]'):
                self.check(temper("tokenize", "--model", self.model, *words, stdin=text), 2, "the input must be a JSON list of ")

    def test_model(self):
        page = json.loads(self.check(temper("model", self.run_dir, "--json"), 0))
        config = json.loads((self.model / "config.json").read_text())
        self.assertTrue(page["usable"])
        self.assertEqual(page["refused"], {})
        self.assertEqual(page["shape"]["family"], config["model_type"])
        self.assertEqual(page["shape"]["num_key_value_heads"], config["num_key_value_heads"])
        self.assertEqual(page["positions"]["max_position_embeddings"], config["max_position_embeddings"])
        self.assertEqual(page["weights"]["files"], ["model.safetensors"])
        self.assertEqual(page["stops"][0], {"id": config["eos_token_id"], "name": "<|im_end|>"})
        self.assertEqual(page["chat"]["format"], "temper")
        self.assertIn("Hello.<|im_end|>", page["example"])
        self.assertIn(page["here"]["device"], ("cpu", "cuda"))
        self.check(temper("model", self.model), 0, "sentencepiece", "every tensor of the shape is there", "none: head_dim is")

    def test_model_says_all_that_is_refused(self):
        copy = self.broken_copy("refused")
        config = json.loads((copy / "config.json").read_text())
        config["num_hidden_layers"] += 1
        (copy / "config.json").write_text(json.dumps(config))
        (copy / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content[::-1] }}<|im_end|>{% endfor %}")
        page = json.loads(self.check(temper("model", copy, "--json"), 2))
        self.assertFalse(page["usable"])
        self.assertEqual(set(page["refused"]), {"weights", "chat"})
        self.assertIn("is missing", page["refused"]["weights"])
        self.assertIn("model.chat_format=", page["refused"]["chat"])
        self.check(temper("model", copy), 2, "REFUSED: ")
        page = json.loads(self.check(temper("model", copy, "--json", "--chat", "temper"), 2))
        self.assertEqual(set(page["refused"]), {"weights"})
        self.check(temper("model", WORK / "nowhere"), 2, "model: ", "no such folder")
        self.check(temper("model", self.model, "--chat", "nonsense"), 2, "'nonsense' is not allowed")

    def test_logprobs(self):
        ids = [[5, 6, 7], [8, 9]]
        rows = json.loads(self.check(temper("logprobs", "--model", self.model, stdin=json.dumps({"ids": ids})), 0))
        self.assertEqual([len(row) for row in rows["log_probs"]], [3, 2])
        self.assertIsNone(rows["log_probs"][0][0])
        self.assertLess(rows["log_probs"][0][1], 0)
        for word in ("-1", "2.5", "1e+300", "4294967301", "[1]", "null"):
            text = f'{{"ids": [[1], [2, {word}]]}}'
            self.check(temper("logprobs", "--model", self.model, stdin=text), 2, f"ids[1] holds {word}: must be 0 to ")
        for text in ("nonsense", "[[1]]", '{"ids": [1]}', '{"ids": 3}', "{}", f'{{"ids": {DEEP}}}'):
            self.check(temper("logprobs", "--model", self.model, stdin=text), 2, 'must be JSON like {"ids": [[')

    def test_generate(self):
        words = ("generate", "--model", self.model, "--max-tokens", 8, "--temperature", 1, "hello")
        first = self.check(temper(*words), 0)
        self.assertEqual(first, self.check(temper(*words), 0))
        self.check(temper("generate", "--model", self.model), 2, "give either a prompt or --task")

    def test_export(self):
        copy = WORK / "copy"
        self.check(temper("export", self.model, copy), 0)
        self.assertEqual((copy / "model.safetensors").read_bytes(), (self.model / "model.safetensors").read_bytes())
        self.check(temper("export", self.model, copy), 2, "exists already")

    def test_export_keeps_no_weights_in_memory(self):
        config = good_files.CONFIG | {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 3, "num_attention_heads": 16,
                                      "num_key_value_heads": 4, "head_dim": 128, "torch_dtype": "bfloat16"}
        header, at = {}, 0
        for name, shape in good_files.shapes(config).items():
            size = 2 * good_files.product(shape)
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            at += size
        small, large = good_files.Folder(WORK / "small_folder"), good_files.Folder(WORK / "large_folder")
        large.write("config.json", config)
        large.weights(header, b"")
        with open(large.path / "model.safetensors", "ab") as file:
            file.truncate(file.tell() + at)  # 349 MiB of zeros, which take no room
        with attack_files.Starters() as starters:
            few, many = (starters.run([TEMPER, "export", folder.path, f"{folder.path}_out"], WORK / "printed") for folder in (small, large))
        self.assertEqual((few.code, many.code), (0, 0), many.text)
        self.assertLess(many.mebibytes, few.mebibytes + 200)
        shutil.rmtree(f"{large.path}_out")

    def test_show(self):
        self.check(temper("show", self.run_dir, "1", "--limit", 1), 0)
        first = self.check(temper("show", self.run_dir, "1"), 0)
        for name in ("step_1", "step_000001"):
            self.assertEqual(self.check(temper("show", self.run_dir, name), 0), first)
        self.check(temper("show", self.run_dir, "step_80"), 2, "has no step_000080")
        self.check(temper("show", self.run_dir), 0)
        self.check(temper("show", self.run_dir, "eval_afer"), 2, "did you mean eval_after?")
        self.check(temper("show", "/nowhere"), 2, "/nowhere is not a run directory")

    def test_each_checkpoint_says_what_made_it(self):
        start = json.loads((self.run_dir / "run.json").read_text())
        manifests = [json.loads(path.read_text()) for path in (self.run_dir / "checkpoints").glob("*/manifest.json")]
        self.assertTrue(manifests)
        for manifest in manifests:
            self.assertEqual(manifest["start"], start)
        self.assertIn(start["commit"], (self.run_dir / "log/rank_0.txt").read_text())

    def test_eval(self):
        of_eight_ranks = "model.shard_degree=8"
        out = self.check(temper("eval", tiny_config(), f"model.path={self.model}", of_eight_ranks, "--json"), 0)
        self.assertIn("val/sampled/correct", json.loads(out))
        self.check(temper("eval", tiny_config()), 2, "model.path")

    def broken_copy(self, name):
        copy = WORK / name
        shutil.copytree(self.model, copy)
        return copy

    def test_hostile_safetensors(self):
        weights = self.model.joinpath("model.safetensors").read_bytes()
        hostile = {"truncated": weights[:len(weights) // 2], "empty": b"",
                   "huge_header": struct.pack("<Q", 1 << 62) + weights[8:],
                   "not_json": struct.pack("<Q", 64) + b"\xff" * 64,
                   "deep": struct.pack("<Q", 100000) + b"[" * 100000}
        for name, data in hostile.items():
            with self.subTest(name):
                copy = self.broken_copy("hostile_" + name)
                (copy / "model.safetensors").write_bytes(data)
                self.check(temper("export", copy, WORK / "never"), 2, "model.safetensors")
                self.assertFalse((WORK / "never").exists())

    def test_directories_that_are_no_model(self):
        def refused(why, *words):
            self.check(temper("train", tiny_config(), f"run.dir={WORK / 'no_model'}", *words), 2, why)
            self.assertFalse((WORK / "no_model").exists())

        refused("model.path: /nowhere: no such folder", "model.path=/nowhere")
        copy = self.broken_copy("no_weights")
        (copy / "model.safetensors").unlink()
        refused("no_weights: holds neither model.safetensors nor", f"model.path={copy}")
        copy = self.broken_copy("no_tokenizer")
        (copy / "tokenizer.model").unlink()
        refused('tokenizer.json: model.type = "Unigram" is not supported: must be "BPE"', f"model.path={copy}")
        (copy / "tokenizer.json").unlink()
        refused("tokenizer.model: no such file, nor a tokenizer.json", f"model.path={copy}")

    def test_config_of_a_larger_model(self):
        copy = self.broken_copy("larger")
        config = json.loads((copy / "config.json").read_text())
        config.update(vocab_size=1 << 24, hidden_size=1 << 16)
        (copy / "config.json").write_text(json.dumps(config))
        self.check(temper("export", copy, WORK / "never"), 2, "larger: model.safetensors, ", "parameters that config.json describes")
        self.assertFalse((WORK / "never").exists())

    def test_tokenizer_that_does_not_fit(self):
        copy = self.broken_copy("misfit")
        config = json.loads((copy / "config.json").read_text())
        config["vocab_size"] = 300
        (copy / "config.json").write_text(json.dumps(config))
        self.check(temper("train", tiny_config(), f"model.path={copy}", f"run.dir={WORK / 'misfit_run'}"), 2, "300")
        self.assertFalse((WORK / "misfit_run").exists())

    def test_a_run_goes_on_from_a_checkpoint_until_interrupted(self):
        run = WORK / "interrupted"
        process = subprocess.Popen([TEMPER, "train", str(tiny_config()), f"run.dir={run}", "run.steps=1000",
                                    "eval.before=false", f"model.path={self.run_dir / 'checkpoints/cold_start'}"],
                                   cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertTrue(comes_true((run / "trajectories/step_000001.safetensors").exists))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, out)
        self.assertTrue((run / "checkpoints/final/model.safetensors").exists())

    def test_an_interrupt_ends_the_corpus_at_once(self):
        run, config = WORK / "interrupted_corpus", WORK / "all_tasks.yaml"
        config.write_text(TINY)
        process = subprocess.Popen([TEMPER, "train", str(config), f"run.dir={run}", "traces.conversations=5000"],
                                   cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ""
        while "policy: new" not in said and (line := process.stdout.readline()):
            said += line
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, said + out)
        self.assertIn("nothing was kept", out)
        self.assertFalse(run.exists())


class OptionsPage(Program):
    def test_option_table(self):
        table = self.check(temper("options", "--markdown"), 0)
        text = (ROOT / "docs/reference/options.md").read_text()
        written = text.split("<!-- options:begin -->\n")[1].split("<!-- options:end -->")[0]
        mend = ("build/temper options --markdown | sed -i -e '/options:begin/r /dev/stdin' "
                "-e '/options:begin/,/options:end/{//!d}' docs/reference/options.md")
        self.assertEqual(written, table, f"the options of docs/reference/options.md are not the program's; write them anew with\n  {mend}\n")


class Plans(Program):
    """For machines that are not here, from the recipes as they are."""

    FITS = {"drkernel-8b": (True, True), "drkernel-14b": (False, True), "kevin-32b": (False, False),
            "tritonrl-8b": (True, True), "makora": (True, True), "cuda_agent": (False, True), "think_prune_train": (True, True)}

    def test_every_recipe_on_both_machines(self):
        recipes = sorted((ROOT / "configs/recipes").glob("*.yaml"))
        self.assertEqual({path.stem for path in recipes}, set(self.FITS))
        for path in recipes:
            for machine, fits in zip(("8xH100-80", "8xH200-141"), self.FITS[path.stem]):
                with self.subTest(recipe=path.stem, machine=machine):
                    result = temper("train", path, "--dry-run", "--machine", machine)
                    self.check(result, 0 if fits else 2, "keys and values", "is not here: planned as published", "estimated:",
                               "rollout.max_sequences may be up to" if fits else "are available: ")
                    if fits:
                        again = WORK / "again.yaml"
                        again.write_text(result.stdout)
                        self.check(temper("train", again, "--dry-run", "--machine", machine), 0)

    def test_machines_that_nobody_knows(self):
        recipe = ROOT / "configs/recipes/drkernel-8b.yaml"
        for machine in ("8xA100-80", "H100-80", "0xH100-80", "8x", "8xH100-80x", "99999xH100-80"):
            self.check(temper("train", recipe, "--dry-run", "--machine", machine), 2, machine, "H100-80 or H200-141")
        self.check(temper("train", recipe, "--machine", "8xH100-80"), 2, "pass both")
        self.check(temper("train", recipe, "--dry-run", "--machine", "8xH100-80", "model.path=models/GPT-9"), 2, "GPT-9", "Qwen3-8B")


class Speed(Program):
    def test_bench_trajectories(self):
        said = self.check(temper("bench", "trajectories", "--trajectories", 2, "--turns", 1, "--tokens", 64, "--rounds", 1), 0)
        self.assertRegex(said, r"JSON lines .*\ncolumns, raw .*\ncolumns, zstd ")

    def test_bench(self):
        small = ("--seconds", 0.2, "--batch", 2, "--length", 16, "--json", "model.hidden_size=32")
        for what in ("train", "decode"):
            self.assertGreater(json.loads(self.check(temper("bench", what, *small), 0))["tokens_per_s"], 0)

    def test_bench_judge_logs_by_one_clock(self):
        """The first tenth is judged alone, and what is used is looked at after it for a second at rest."""
        name, folder, log = tasks("train", 1)[0], WORK / "parse_failures", WORK / "verdicts.log"
        folder.mkdir(exist_ok=True)
        (folder / "nothing.cc").write_text(f"// task: {name}\n// expect: FAIL_PARSE\n")
        words = ("--candidates", folder, "--count", 20, "--log", log, f"tasks.names=[{name}]", "env.lanes=1")
        self.check(temper("bench", "judge", *words), 0)
        times = [json.loads(line)["at_s"] for line in log.read_text().splitlines()]
        self.assertEqual(len(times), 20)
        self.assertLess(times[1], times[2] - 1)
        self.assertEqual(times, sorted(times))

    def test_bench_update(self):
        shape = [f"model.{words}" for words in ("hidden_size=32", "head_dim=16", "vocab_size=300", "max_position_embeddings=128")]
        words = ("bench", "update", "rollout.max_context_tokens=128", "rollout.max_response_tokens=64", "--groups", 2, "--samples", 2, "--prompt", 20, "--answer", 12, "--feedback", 5, *shape)
        said = self.check(temper(*words, "--turns", 3, "--json"), 0)
        whole, shared, of_shared, turns, of_turns = [json.loads(line) for line in said.splitlines()]
        self.assertEqual((whole["tokens"], turns["tokens"]), (4 * 66, 4 * (32 + 49 + 66)))
        self.assertEqual(shared["tokens"], 4 * 66 - 2 * 19)  # a prompt's last token predicts each answer's first
        for ratio in (of_shared, of_turns):
            self.assertGreater(ratio["seconds"], 0)
            self.assertTrue(0 < ratio["gradient_difference"] < 1e-5, ratio)
        self.check(temper(*words, "--turns", 10), 2, "rows of 185 tokens are longer", "model.max_position_embeddings, 128")

    def test_bench_kernels(self):
        self.check(temper("bench", "kernels", "--width", 200), 2, "--width: 200", "multiple of 128")
        result = temper("bench", "kernels", "--rows", 8, "--width", 128, "--vocab", 1024, "--json")
        if result.returncode == 3:  # no GPU
            self.check(result, 3, "bench kernels: ")
        else:
            self.assertGreater(len(json.loads(self.check(result, 0))), 10)

    def test_full_disk_behind_standard_output(self):
        for words in (["train", "--help"], ["options", "--markdown"], ["train", tiny_config(), "--dry-run"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([TEMPER, *map(str, words)], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("No space left on device", done.stderr)

    def test_a_reader_that_has_seen_enough(self):
        done = subprocess.run(f"set -o pipefail; {TEMPER} options --markdown | head -n 1", shell=True, executable="/bin/bash",
                              capture_output=True, text=True, cwd=ROOT)
        self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 1), done.stderr)

    def test_help(self):
        self.check(temper("train", "--help"), 0, "optimizer.lr=", "rollout.samples_per_task=")
        self.check(temper("options", "--markdown"), 0, "| `optimizer.lr` |")


if __name__ == "__main__":
    TEMPER = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory(prefix="temper_cli_") as work:
        WORK = Path(work)
        unittest.main(verbosity=2)
