"""Reads a run's trajectories with the very code of docs/reference/trajectories.md and with the safetensors package, and compares them with what
`temper show --json` says: python3 tests/trajectories_reference.py build/temper. Ends with 77 where a package is missing."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy
    import zstandard  # noqa: F401
    from safetensors.numpy import load_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import cli_test

READER = {}
for code in re.findall(r"```python\n(.*?)```", (cli_test.ROOT / "docs/reference/trajectories.md").read_text(), re.S):
    exec(code, READER)


class Trajectories(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = {}
        for form in ("raw", "zstd"):
            run = cli_test.WORK / form
            done = cli_test.temper("train", cli_test.tiny_config(), f"run.dir={run}", "run.steps=1", f"run.trajectories={form}",
                                   "eval.before=false", "env.min_pairs=5")
            assert done.returncode == 0, done.stdout + done.stderr
            cls.runs[form] = run

    def read(self, form):
        path = self.runs[form] / "trajectories/step_000001.safetensors"
        shown = cli_test.temper("show", self.runs[form], "1", "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return path, [json.loads(line) for line in shown.stdout.splitlines()]

    def test_the_reader_of_the_documentation(self):
        for form in ("raw", "zstd"):
            path, shown = self.read(form)
            columns, notes = READER["read_trajectories"](path)
            self.assertEqual(len(shown), 4)
            turn = 0
            for index, t in enumerate(shown):
                self.assertEqual(notes["tasks"][columns["trajectory.task"][index]], t["task"])
                self.assertEqual(columns["trajectory.sample"][index], t["sample"])
                for segment in range(len(t["segments"])):
                    own = t["segments"][segment]
                    ids = READER["row"](columns, index, segment).tolist()
                    self.assertEqual(ids[own["prefix"]:], own["ids"])
                for said in t["turns"]:
                    begin, end = columns["turn.begin"][turn], columns["turn.end"][turn]
                    whole = READER["row"](columns, index, said["segment"]).tolist()
                    self.assertEqual(columns["token.id"][begin:end].tolist(), whole[said["begin"]:said["end"]])
                    self.assertTrue((columns["token.log_prob"][begin:end] <= 0).all())
                    self.assertEqual(notes["kinds"][columns["turn.kind"][turn]], said["verdict"]["kind"])
                    self.assertEqual(columns["turn.speedup"][turn], said["verdict"]["speedup"])
                    turn += 1
            verdicts = columns["turn.verdict"].tobytes().decode().splitlines()
            self.assertEqual([json.loads(line) for line in verdicts],
                             [said["verdict"] for t in shown for said in t["turns"]])

    def test_safetensors_opens_it(self):
        path, shown = self.read("raw")
        columns = load_file(path)
        ours, _ = READER["read_trajectories"](path)
        self.assertEqual(set(columns), set(ours))
        for name in columns:
            if name != "turn.verdict":
                numpy.testing.assert_array_equal(columns[name], ours[name])
        load_file(self.read("zstd")[0])

    def test_pandas(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        path, shown = self.read("raw")
        table = READER["turns"](path)
        self.assertEqual(list(table["kind"]), [said["verdict"]["kind"] for t in shown for said in t["turns"]])
        self.assertEqual(list(table["task"]), [t["task"] for t in shown for _ in t["turns"]])


if __name__ == "__main__":
    cli_test.TEMPER = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory() as directory:
        cli_test.WORK = Path(directory)
        unittest.main()
