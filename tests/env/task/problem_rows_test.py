#!/usr/bin/env python3
"""`temper tasks` reads the published sets' rows: how many, under which names, and what it says of those with faults.

    problem_rows_test.py build/temper
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import problem_rows
from problem_rows import LEFT_OUT, ROWS, SHAPES

TEMPER = sys.argv.pop(1)
FORMS = {"kernelbench": "KernelBench's", "kernelbook": "KernelBook's", "drkernel": "drkernel-rl-data's", "cudallm": "cudaLLM's",
         "cuda_agent": "CUDA-Agent-Ops-6K's", "engineer": "the AI CUDA Engineer's", "robust": "robust-kbench's", "generic": "no known"}
SEVENTH = {"kernelbench": "level2_7_erf", "kernelbook": "7_layer7", "drkernel": "7_model", "cudallm": "7", "cuda_agent": "7_erf_linear",
           "engineer": "level2_7_erf", "robust": "level1_7_erf_7", "generic": "7_problem_7"}


def temper(*words, **more):
    return subprocess.run([TEMPER, *map(str, words)], capture_output=True, text=True, timeout=600, **more)


class ProblemRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.dir = pathlib.Path(cls.holder.name)
        problem_rows.write(cls.dir / "sets")

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def tasks(self, path, *words):
        done = temper("tasks", "--json", f"tasks.path={path}", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def test_every_set_is_read_and_its_faults_are_counted(self):
        for shape in SHAPES:
            with self.subTest(shape):
                path = self.dir / "sets" / f"{shape}.jsonl"
                words = ["tasks.field=body"] if shape == "generic" else []  # faults are told best where the field is known
                tasks, said = self.tasks(path, *words)
                names = [task["name"] for task in tasks]
                self.assertEqual(len(names), ROWS - LEFT_OUT, said)
                self.assertEqual(len(set(names)), len(names))
                self.assertIn(SEVENTH[shape], names)
                self.assertIn(f"{path}: problems: {ROWS - LEFT_OUT + 4} in rows of {FORMS[shape]} form", said)
                self.assertIn(f"left out: {LEFT_OUT} of {ROWS} rows: ", said)
                for told in ("1 without a source (the first: ", f"{path}:10", "3 whose source does not parse (the first: ", f"{path}:40: line ",
                              f"{path}:20", "1 without get_inputs or get_init_inputs (the first: ", f"{path}:30",
                              f"1 with a source that an earlier row has (the first: {path}:50, as {path}:1)"):
                    self.assertIn(told, said)
                self.assertEqual(self.tasks(path)[0], tasks)  # without a word, too

    def test_names_are_usable(self):
        path = self.dir / "sets" / "drkernel.jsonl"
        tasks, _ = self.tasks(path, "tasks.names=[7_model]")
        self.assertEqual([task["name"] for task in tasks], ["7_model"])
        prompt = temper("tasks", "7_layer7", "--prompt", f"tasks.path={self.dir}/sets/kernelbook.jsonl")
        self.assertIn("class Model(Layer7):", prompt.stdout)

    def test_fields_that_are_named(self):
        path = self.dir / "sets" / "generic.jsonl"
        tasks, _ = self.tasks(path, "tasks.field=body", "tasks.name_field=title", "tasks.level_field=meta.difficulty")
        self.assertIn({"name": "problem_7", "family": "hard"}, [{"name": t["name"], "family": t["family"]} for t in tasks])
        done = temper("tasks", f"tasks.path={path}", "tasks.level_field=meta.dificulty")
        self.assertEqual(done.returncode, 2)
        self.assertIn("tasks.level_field: no row has the field 'meta.dificulty'; the first has body, id, meta.difficulty", done.stderr)

    def test_the_same_rows_in_other_files(self):
        wanted, _ = self.tasks(self.dir / "sets" / "kernelbench.jsonl")
        rows = problem_rows.rows("kernelbench")
        folder = self.dir / "other"
        folder.mkdir()
        (folder / "array.json").write_text(json.dumps(rows))
        (folder / "pretty.json").write_text(json.dumps({"data": rows}, indent=2))
        (folder / "packed.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
        for path in sorted(folder.iterdir()):
            self.assertEqual([t["name"] for t in self.tasks(path)[0]], [t["name"] for t in wanted], path)
        together, said = self.tasks(folder)
        self.assertEqual(len(together), len(wanted), said)
        self.assertIn("with a source that an earlier row has", said)

    def test_parquet(self):
        (self.dir / "table.parquet").write_bytes(b"PAR1" + b"\0" * 20 + b"PAR1")
        done = temper("tasks", f"tasks.path={self.dir}/table.parquet")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "-m pip install pyarrow|is no parquet file that can be read")
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            self.skipTest("no pyarrow here")
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(problem_rows.rows("drkernel")), self.dir / "set.parquet")
        done = temper("tasks", "--json", f"tasks.path={self.dir}/set.parquet", env={**os.environ, "TEMPER_PYTHON": sys.executable})
        self.assertEqual(len(done.stdout.splitlines()), ROWS - LEFT_OUT, done.stderr)
        self.assertIn("set.parquet: row 10", done.stderr)


if __name__ == "__main__":
    unittest.main()
