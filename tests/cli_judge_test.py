"""Judges, plans and admits with the built program as a user does: python3 tests/cli_judge_test.py build/temper"""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import cli_test
from cli_test import Program, tasks, temper


class Judge(Program):
    def candidate(self, name, text):
        path = cli_test.WORK / name
        path.write_text(text)
        return path

    def test_what_a_candidate_may_not_gain(self):
        """A right one passes, and its file's bound says whether it may be so fast."""
        folder = cli_test.WORK / "harmless"
        folder.mkdir(exist_ok=True)
        words = ("bench", "judge", "--candidates", folder, "--count", 1, "tasks.names=[softmax_weighted_difference]",
                 "tasks.path=env/tasks/cpp", "env.lanes=1")
        for bound, code in (("1e6", 0), ("0.001", 1), ("soon", 2)):
            with self.subTest(bound):
                (folder / "right.cc").write_text(
                    f"// task: softmax_weighted_difference\n// expect: PASS\n// speedup_below: {bound}\n{self.SOFTMAX}")
                told = temper(*words)
                self.check(told, code, *(["speedup_below: soon: must be a number"] if code == 2 else []))
                if code < 2:
                    unexpected = [one["message"] for one in json.loads(told.stdout)["unexpected"]]
                    self.assertEqual(["not below 0.001" in one for one in unexpected], [True] * code, unexpected)

    def test_answers_and_exit_codes(self):
        task = tasks("train", 1)[0]
        answer = self.candidate("answer.md", "I have no code for this.\n")
        self.check(temper("judge", task, answer), 1, "FAIL_PARSE (no_code_block)", "FAIL_PARSE no code block in the answer")
        broken = self.candidate("broken.cc", 'extern "C" void kernel(float* y) { this does not compile }\n')
        verdict = json.loads(self.check(temper("judge", task, broken, "--json"), 1))
        self.assertEqual(verdict["kind"], "FAIL_COMPILE")
        self.assertEqual((verdict["task"], verdict["candidate"]), (task, str(broken)))
        self.assertGreaterEqual(verdict["machine"]["cores"], 1)
        self.assertIn("commit", verdict["program"])
        self.check(temper("judge", task + "x", broken), 2, f"{task}")
        self.check(temper("judge", task, cli_test.WORK / "missing.cc"), 2, "missing.cc: no such file")
        self.check(temper("judge", task, cli_test.WORK), 2, "is a folder, not a file")

    SOFTMAX = """#include <cmath>
extern "C" void kernel(const float* x, const float* z, const float* a, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, z += m, y += m) {
    float most = -INFINITY, sum = 0;
    for (int j = 0; j < m; ++j) most = std::fmax(most, y[j] = (x[j] - z[j]) * a[j]);
    for (int j = 0; j < m; ++j) sum += y[j] = std::exp(y[j] - most);
    for (int j = 0; j < m; ++j) y[j] /= sum;
  }
}
"""

    def test_a_line_for_each_timed_shape(self):
        right = self.candidate("right.cc", self.SOFTMAX)
        words = ["judge", "softmax_weighted_difference", right, "tasks.path=env/tasks/cpp"]
        self.check(temper(*words), 0, "  m 256, n 256: ", "  m 8, n 8192: ", "\nat m 16384, n 4: speedup ")
        verdict = json.loads(self.check(temper(*words, "--json"), 0))
        self.assertEqual([at["sizes"] for at in verdict["shapes"]], [{"n": 256, "m": 256}, {"n": 8192, "m": 8}, {"n": 4, "m": 16384}])
        self.assertAlmostEqual(verdict["candidate_us"], sum(at["candidate_us"] for at in verdict["shapes"]))
        wrong = self.candidate("wrong.cc", self.SOFTMAX.replace("sum = 0", "sum = m == 16384"))
        self.check(temper("judge", "softmax_weighted_difference", wrong, "tasks.path=env/tasks/cpp"), 1,
                   "FAIL_INCORRECT at m 16384, n 4: y[")


class Plan(Program):
    ADD = """__global__ void gelu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = normcdff(x[i]) * x[i];
}
extern "C" void launch(const float* x, float* y, int n) { gelu<<<(n + 255) / 256, 256>>>(x, y, n); }
"""

    def plan(self, source, *words):
        path = cli_test.WORK / "candidate.cu"
        path.write_text(source)
        result = temper("judge", "--plan", "gpu_gelu", path, *words)
        if result.returncode == 3 and "CUDA" in result.stderr:
            self.skipTest(result.stderr.strip())
        return result

    def test_what_a_launcher_does(self):
        self.check(self.plan(self.ADD), 0, "n=16777216 (timed)", "kernel _Z4geluPKfPfi",
                   "_Z4geluPKfPfi grid 65536 block 256 (input0 output0 01000000)")
        found = json.loads(self.check(self.plan(self.ADD, "--json"), 0))
        self.assertEqual(found["plans"][-1]["shape"], {"n": 16777216})
        self.assertEqual(found["plans"][0]["workspace_bytes"], 0)

    def test_each_timed_shape_has_one(self):
        path = cli_test.WORK / "touch.cu"
        path.write_text("__global__ void touch(float* y, int m) { if (threadIdx.x < m) y[threadIdx.x] = 0; }\n"
                        'extern "C" void launch(const float* x, const float* a, float* y, int n, int m) { touch<<<n, 256>>>(y, m); }\n')
        result = temper("judge", "--plan", "gpu_softmax_weighted", path)
        if result.returncode == 3 and "CUDA" in result.stderr:
            self.skipTest(result.stderr.strip())
        out = self.check(result, 0, "m=4096 n=4096 (timed)", "m=256 n=65536 (timed)", "m=131072 n=128 (timed)", "grid 65536 block 256")
        self.assertEqual(out.count("(timed)"), 3)

    def test_why_there_is_no_plan(self):
        self.check(self.plan(self.ADD.replace("{ gelu<<<", "{ cudaStream_t s; cudaStreamCreate(&s); gelu<<<")), 1,
                   "FAIL_PLAN (stream)", "launch calls cudaStreamCreate: there is one stream, the default one")
        self.check(self.plan(self.ADD.replace("y[i] =", "z[i] =")), 1, "FAIL_COMPILE (compile_error)",
                   'line 3: identifier "z" is undefined')
        verdict = json.loads(self.check(self.plan(self.ADD.replace(", 256>>>", ", 2048>>>"), "--json"), 1))
        self.assertEqual([verdict["kind"], verdict["reason"]], ["FAIL_RUNTIME", "cuda_error"])

    def test_other_languages_have_none(self):
        path = cli_test.WORK / "candidate.cu"
        path.write_text(self.ADD)
        self.check(temper("judge", "--plan", tasks("train", 1)[0], path), 2, "is cpp; plans are of tasks for GPUs")

    def test_a_missing_compiler(self):
        if "built without" in self.plan(self.ADD).stderr:
            self.skipTest("built without a CUDA toolkit")
        path = cli_test.WORK / "candidate.cu"
        self.check(temper("judge", "--plan", "gpu_gelu", path, env={**os.environ, "CUDACXX": "/bin/false"}), 3,
                   "/bin/false does not run")


class Admission(Program):
    def test_each_task_and_why_not(self):
        name = tasks("train", 1)[0]
        path = cli_test.WORK / "admission.yaml"
        path.write_text("""
defaults: {inputs: {x: [n, m]}, outputs: {y: [n, m]}, check: [{n: 3, m: 5}], timed: {n: 256, m: 256}}
tasks:
  - {name: honest, reference: 'torch.softmax(torch.exp(x) * 2 - x, -1)'}
  - {name: copied, reference: x.clone()}
  - {name: deaf, reference: torch.exp(x), inputs: {x: [n, m], b: [m]}}
""")
        said = self.check(temper("judge", "--admit", f"tasks.path={path}"), 1, "1 of 3 tasks admitted")
        self.assertRegex(said, r"honest +other +train +[0-9.]+  yes\n")
        self.assertRegex(said, r"copied .* no\n    the trivial solver input_copy gets PASS")
        self.assertRegex(said, r"deaf .* -  no\n    reference: input b has no influence")
        self.check(temper("judge", "honest", "--admit", f"tasks.path={path}"), 0, "1 of 1 tasks admitted")
        rows = json.loads(temper("judge", "--admit", path, name, "--json").stdout)
        self.assertEqual([row["task"] for row in rows], ["honest", "copied", "deaf", name])
        self.assertEqual([row["admitted"] for row in rows[:3]], [True, False, False])
        self.assertGreater(rows[0]["eager_us"], 20)

    def test_mistakes(self):
        self.check(temper("judge", "--admit", "no_such_task"), 2, "task 'no_such_task' is unknown")
        self.check(temper("judge", "--admit", "tasks.pat=x"), 2, "did you mean tasks.path?")
        name = tasks("train", 1)[0]
        self.check(temper("judge", "--admit", name, name), 2, f"task '{name}' is named twice")
        self.check(temper("judge"), 2, "give a task and a candidate, or --admit, --tasks or --again")
        self.check(temper("judge", name), 2, "give a task and a candidate, or --admit")

    def test_gpu_tasks_are_tried_without_a_gpu(self):
        path = cli_test.WORK / "gpu_admission.yaml"
        path.write_text("""
defaults: {language: cuda, inputs: {x: [n, m]}, outputs: {y: [n, m]}, check: [{n: 3, m: 5}], timed: {n: 256, m: 256}}
tasks:
  - {name: honest, family: softmax, reference: 'torch.softmax(torch.exp(x) * 2 - x, -1)'}
  - {name: copied, family: copy, reference: x.clone()}
""")
        said = self.check(temper("judge", "--admit", f"tasks.path={path}"), 1, "of 2 tasks admitted")
        self.assertRegex(said, r"honest +softmax +train +1\.0 ")
        self.assertRegex(said, r"copied .* no\n    the trivial solver copy_of x passes\n")
        table = self.check(temper("judge", "--admit", "--markdown", "copied", f"tasks.path={path}"), 1, "0 of 1")
        self.assertRegex(table, r"### copy\n\n\| task .*\n\|---.*\n\| `copied` \| train \| x\[n, m\] → y\[n, m\] \| n 256, m 256 \| 1\.0 \|")

    def test_no_sandbox(self):
        self.check(temper("judge", "--admit", env={**os.environ, "PATH": "/nowhere", "CXX": ""}), 3, "no C++ compiler")


if __name__ == "__main__":
    cli_test.TEMPER = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory(prefix="temper_cli_judge_") as work:
        cli_test.WORK = Path(work)
        unittest.main(verbosity=2)
