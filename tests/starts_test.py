"""How runs and commands start: what a dry run refuses, what a run's folder means as a model: python3 tests/starts_test.py build/temper"""

import json
import shutil
import struct
import sys
import tempfile
import unittest
from pathlib import Path

import cli_test
from cli_test import ROOT, Program, tasks, temper, tiny_config

SHARE = "rank_00000.safetensors"


class Starts(Program):
    def refused_alike(self, *words, said):
        run = cli_test.WORK / "refused"
        words = [*words, f"run.dir={run}"]
        dry, real = temper("train", *words, "--dry-run"), temper("train", *words)
        self.check(dry, 2, said)
        self.check(real, 2, said)
        self.assertEqual(dry.stderr, real.stderr)
        self.assertEqual(real.stdout, "")
        self.assertFalse(run.exists())


class DryRun(Starts):
    """Says what a run would say, and prints a config that reads back."""

    def test_own_tasks_of_which_none_is_to_learn_from(self):
        names = ", ".join(tasks("heldout", 2))
        self.refused_alike(ROOT / "configs/quickstart.yaml", f"tasks.names=[{names}]", "rollout.tasks_per_step=1",
                           said="nothing to be taught on")

    def test_a_reference_that_does_not_compile(self):
        path = cli_test.WORK / "no_reference.yaml"
        text = (ROOT / "env/tasks/cpp/elementwise.yaml").read_text()
        path.write_text(text.replace("reference: torch.", "reference: torch.no_such_", 1))
        self.refused_alike(tiny_config(), f"tasks.path={path}", said="no_such_")

    def test_the_config_reads_back(self):
        words = ["optimizer.lr=3e-5", "checkpoint.best=critic/rewards/mean", "loss.kl_coefficient=0.01",
                 f"run.dir={cli_test.WORK / 'a b'}", "env.gpus=[]", "model.device=auto"]
        first = temper("train", tiny_config(), *words, "--dry-run")
        self.check(first, 0)
        self.assertIn("headroom", first.stderr)
        self.assertNotIn("headroom", first.stdout)
        written = cli_test.WORK / "read_back.yaml"
        written.write_text(first.stdout)
        again = temper("train", written, "--dry-run")
        self.check(again, 0)
        self.assertEqual(again.stdout, first.stdout)
        self.assertIn("device: auto", first.stdout)


class Runs(Starts):
    """One small run, and its folder in place of a model's."""

    run_dir = None

    @classmethod
    def made(cls):
        if cls.run_dir is None:
            Runs.run_dir = cli_test.WORK / "run"
            done = temper("train", tiny_config(), f"run.dir={Runs.run_dir}", "checkpoint.every=1", "eval.before=false")
            assert done.returncode == 0, done.stdout + done.stderr
        return Runs.run_dir

    def takes(self, what, *words, run=None, code=0):
        run = run or self.made()
        result = temper(*[str(word).replace("RUN", str(run)) for word in words])
        self.check(result, code)
        self.assertEqual(result.stderr.splitlines()[0], f"{run} is a run: its {what} is taken")
        return result.stdout

    def copy(self, name):
        copy = cli_test.WORK / name
        shutil.copytree(self.made(), copy)
        return copy

    def test_each_command_takes_a_complete_runs_last_model(self):
        final = self.made() / "checkpoints/final"
        ids = self.takes("checkpoints/final", "tokenize", "--model", "RUN", "for (int i")
        self.assertEqual(ids, temper("tokenize", "--model", final, "for (int i").stdout)
        words = ("generate", "--max-tokens", 8, "hello", "--model")
        self.assertEqual(self.takes("checkpoints/final", *words, "RUN"), temper(*words, final).stdout)
        asked = cli_test.WORK / "ids.json"
        asked.write_text('{"ids": [[5, 6, 7]]}')
        self.takes("checkpoints/final", "logprobs", asked, "--model", "RUN")
        self.takes("checkpoints/final", "export", "RUN", cli_test.WORK / "exported")
        self.assertEqual((cli_test.WORK / "exported/model.safetensors").read_bytes(), (final / "model.safetensors").read_bytes())
        self.takes("checkpoints/final", "eval", tiny_config(), "model.path=RUN", "--json", "eval.samples=1")
        self.takes("checkpoints/final", "collect", tiny_config(), "model.path=RUN", "--out", cli_test.WORK / "c.jsonl", "--samples", 1,
                   code=temper("collect", tiny_config(), f"model.path={final}", "--out", cli_test.WORK / "d.jsonl", "--samples", 1).returncode)
        second = cli_test.WORK / "second"
        self.takes("checkpoints/final", "train", tiny_config(), "model.path=RUN", f"run.dir={second}", "run.steps=1", "eval.before=false")
        self.assertIn(f"path: {final}", (second / "config.yaml").read_text())

    def test_a_policy_that_cannot_learn_is_told_so(self):
        done = temper("train", tiny_config(), f"run.dir={cli_test.WORK / 'poor'}", "cold_start.max_seconds=0.001", "run.steps=4",
                      "rollout.max_response_tokens=1", "eval.before=false")
        self.check(done, 0, "cold start: ended by cold_start.max_seconds=0.001 after ", "so that no reward was learned from")
        self.assertEqual((done.stdout + done.stderr).count("in each of the last 3 steps"), 1)

    def test_a_run_that_goes_on_gives_its_newest_whole_checkpoint(self):
        run = self.copy("unfinished")
        (run / "finished.json").unlink()
        words = ("tokenize", "--model", "RUN", "x")
        self.takes("checkpoints/step_000002", *words, run=run)
        share = run / "checkpoints/step_000002" / SHARE
        share.write_bytes(share.read_bytes()[:-10])
        self.takes("checkpoints/step_000001", *words, run=run)
        shutil.rmtree(run / "checkpoints/step_000001")
        self.takes("checkpoints/final", *words, run=run)
        shutil.rmtree(run / "checkpoints/final")
        self.takes("checkpoints/cold_start", *words, run=run)
        shutil.rmtree(run / "checkpoints/cold_start")
        self.check(temper("tokenize", "--model", run, "x"), 2, "has no whole model yet")
        self.assertTrue(share.exists())

    def test_what_is_not_there_is_said(self):
        self.check(temper("export", "runs/nowhere", cli_test.WORK / "never"), 2, "export: runs/nowhere: no such folder")
        self.check(temper("tokenize", "--model", "Qwen/Qwen3-8B", "x"), 2, "no such folder", "hf download")
        self.check(temper("generate", "--model", ROOT / "README.md", "x"), 2, "is not a folder")
        self.check(temper("tokenize", "--model", ROOT / "configs", "x"), 2, "no such file")

    def test_models_that_do_not_fit_are_refused_alike_by_dry_run_and_run(self):
        model = cli_test.WORK / "model"
        shutil.copytree(self.made() / "checkpoints/final", model)
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {"intermediate_size": 2 * config["intermediate_size"]}))
        self.refused_alike(tiny_config(), f"model.path={model}", said="expected [")
        (model / "config.json").write_text(json.dumps(config))
        (model / "tokenizer.model").unlink()
        self.refused_alike(tiny_config(), f"model.path={model}", said="tokenizer")
        (model / "tokenizer.json").unlink()
        self.refused_alike(tiny_config(), f"model.path={model}", said="tokenizer.model: no such file")

    def test_a_complete_run_is_left_as_it_is(self):
        done = temper("train", tiny_config(), f"run.dir={self.made()}", "checkpoint.every=1", "eval.before=false")
        self.check(done, 0, "is complete: it ended after step 2", "raise run.steps")
        dry = temper("train", tiny_config(), f"run.dir={self.made()}", "checkpoint.every=1", "eval.before=false", "--dry-run")
        self.check(dry, 0, "a run would end at once: ")

    def test_weights_that_are_not_finite(self):
        model = cli_test.WORK / "not_finite"
        shutil.copytree(self.made() / "checkpoints/final", model)
        weights = (model / "model.safetensors").read_bytes()
        (model / "model.safetensors").write_bytes(weights[:-4] + struct.pack("<f", float("nan")))
        warning = "WARNING: 1 of the weights' numbers are not finite, the first in "
        self.check(temper("generate", "--model", model, "--max-tokens", 2, "hello"), 0, warning)
        self.check(temper("export", model, cli_test.WORK / "not_finite_too"), 0, warning)
        evaluated = temper("eval", tiny_config(), f"model.path={model}", "--json", "eval.samples=1")
        self.check(evaluated, 0, warning)
        json.loads(evaluated.stdout)
        run = cli_test.WORK / "not_finite_run"
        words = ("train", tiny_config(), f"model.path={model}", f"run.dir={run}", "run.steps=1", "eval.before=false")
        self.check(temper(*words), 2, "not finite", "nothing can be learned from such weights", "model.allow_not_finite=true")
        self.assertFalse(run.exists())
        allowed = temper(*words, "model.allow_not_finite=true")
        self.assertIn(warning, allowed.stdout + allowed.stderr)
        self.assertIn(allowed.returncode, (0, 3))


if __name__ == "__main__":
    cli_test.TEMPER = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory(prefix="temper_starts_") as work:
        cli_test.WORK = Path(work)
        unittest.main(verbosity=2)
