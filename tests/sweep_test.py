"""Sweeps and reports as a user has them: python3 tests/sweep_test.py build/temper"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import cli_test
from patience import PATIENCE_S, comes_true


class Sweep(cli_test.Program):
    """Two variants over two seeds, one that cannot begin, and what is made of them."""

    TEXT = """
base: {base}
dir: {dir}
share_start: true
seeds: [1, 2]
cells:
  - {{advantage.name: grpo}}
  - {{advantage.name: trloo}}
  - {{name: broken, model.path: /nowhere}}
"""

    @classmethod
    def setUpClass(cls):
        cls.dir = cli_test.WORK / "swept"
        cls.file = cli_test.WORK / "sweep.yaml"
        cls.file.write_text(cls.TEXT.format(base=cli_test.tiny_config(), dir=cls.dir))
        cls.result = cli_test.temper("sweep", cls.file, "--parallel", min(2, os.cpu_count()))

    def report(self):
        page = (self.dir / "report.html").read_text()
        return page, json.loads(page.split('id="data">')[1].split("</script>")[0])

    def test_a_failed_cell_stops_no_other_and_is_named(self):
        said = self.check(self.result, 1, "broken-seed1 failed:\n    ", "model.path: /nowhere: no such folder", "(exit code 2",
                          f"2 failed; run them again, and them alone: temper sweep {self.file}")
        self.assertRegex(said, r"\| grpo +\| 2 ")
        self.assertRegex(said, r"\| broken +\| 0 of 2 ")
        states = {name: cell["state"] for name, cell in json.loads((self.dir / "state.json").read_text()).items()}
        self.assertEqual(sorted(name for name, state in states.items() if state == "finished"),
                         ["grpo-seed1", "grpo-seed2", "starts/base-seed1", "starts/base-seed2", "trloo-seed1", "trloo-seed2"])
        self.assertIn("| grpo", (self.dir / "sweep.md").read_text())
        self.assertEqual(len((self.dir / "sweep.csv").read_text().splitlines()), 7)

    def test_cells_of_a_seed_begin_alike(self):
        for seed in (1, 2):
            first = [json.loads(cli_test.temper("show", self.dir / f"{cell}-seed{seed}", "eval_before", "--json").stdout.splitlines()[0])
                     for cell in ("grpo", "trloo")]
            self.assertEqual(*(line["segments"][0]["ids"] for line in first))

    def test_report(self):
        page, data = self.report()
        self.assertEqual([(group["label"], len(group["runs"])) for group in data["groups"]], [("grpo", 2), ("trloo", 2)])
        reward = next(chart for chart in data["charts"] if chart["metric"] == "critic/rewards/mean")
        self.assertEqual([line["x"] for line in reward["lines"]], [[1, 2], [1, 2]])
        self.assertIn("low", reward["lines"][0])
        self.assertEqual([row["answers"] for row in data["held_out"]["rows"]][:4], ["turn 1", "turn 2", "best turn", "greedy, last turn"])
        self.assertEqual([row["task"] for row in data["tasks"]], cli_test.tasks("heldout", 1))
        talk = data["conversations"][0]["worst"][0]
        self.assertIn("extern", talk["prompt"])
        self.assertEqual(len(talk["turns"]), 2)
        self.assertEqual(data["problems"], [])
        self.assertLess(len(page), 200_000)

    def test_again_only_what_is_not_done(self):
        before = (self.dir / "grpo-seed1/metrics.jsonl").stat().st_mtime_ns
        self.check(cli_test.temper("sweep", self.file), 1, "6 of 8 done already", "broken-seed2 failed")
        self.assertEqual((self.dir / "grpo-seed1/metrics.jsonl").stat().st_mtime_ns, before)

    def test_a_state_that_is_none_is_refused(self):
        state = self.dir / "state.json"
        whole = state.read_text()
        try:
            for text in ("[]", "{", json.dumps({name: {"state": 3} for name in json.loads(whole)}), '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"):
                state.write_text(text)
                self.check(cli_test.temper("sweep", self.file), 2, "state.json")
        finally:
            state.write_text(whole)

    def test_other_options_are_refused(self):
        self.check(cli_test.temper("sweep", self.file, "run.steps=3"), 2, "-seed1 was run with other options (was ", "steps: 2, is now")
        other = cli_test.WORK / "not_a_sweep"
        other.mkdir()
        (other / "thesis.txt").write_text("mine")
        self.check(cli_test.temper("sweep", self.file, "--dir", other), 2, "is not a sweep of this program")
        self.check(cli_test.temper("sweep", self.file, "--parallel", 10000), 2, "--parallel: 10000 is more than the")

    def test_an_interrupt_stops_the_cells_and_says_how_to_go_on(self):
        where = cli_test.WORK / "stopped"
        process = subprocess.Popen([cli_test.TEMPER, "sweep", str(self.file), "--dir", str(where), "run.steps=1000"], cwd=cli_test.ROOT,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertTrue(comes_true((where / "grpo-seed1/trajectories/step_000001.safetensors").exists))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 130, out)
        self.assertIn("grpo-seed1: stopped", out)
        self.assertIn("2 of 8 done; to continue: temper sweep", out)
        self.assertIn("interrupted after step", (where / "log/grpo-seed1.txt").read_text())

    def test_report_and_watch_of_runs(self):
        run = self.dir / "grpo-seed1"
        self.check(cli_test.temper("report", run, "--watch"), 0, "step 2 of 2", "reward", "ended")
        out = cli_test.WORK / "two.html"
        self.check(cli_test.temper("report", run, self.dir / "trloo-seed2", "--out", out), 0, "2 runs")
        self.assertIn("trloo", out.read_text())
        self.check(cli_test.temper("report", run, run), 2, "is named twice")
        self.check(cli_test.temper("report", cli_test.WORK / "nowhere"), 2, "nowhere: no such run directory")
        self.check(cli_test.temper("report", run, "--out", cli_test.WORK), 2, "is a folder; name a file")
        self.check(cli_test.temper("report", run, self.dir / "trloo-seed2", "--watch"), 2, "--watch takes one run")

    def test_report_of_what_was_broken_off(self):
        copy = cli_test.WORK / "broken_off"
        shutil.copytree(self.dir / "grpo-seed1", copy)
        shutil.rmtree(copy / "checkpoints")
        (copy / "finished.json").unlink(missing_ok=True)
        for file in (copy / "metrics.jsonl", copy / "trajectories/eval_after.safetensors"):
            file.write_bytes(file.read_bytes()[:-20])
        self.check(cli_test.temper("report", copy, "--out", cli_test.WORK / "off.html"), 0)
        page = (cli_test.WORK / "off.html").read_text()
        self.assertIn("the last line of metrics.jsonl is cut off", page)
        self.assertIn("eval_after.safetensors: not trajectories: broken off", page)
        self.assertIn("active, or cut off", page)


if __name__ == "__main__":
    cli_test.TEMPER = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory(prefix="temper_sweep_") as work:
        cli_test.WORK = Path(work)
        unittest.main(verbosity=2)
