"""tools/compiled_baselines without a GPU: compiled_baselines_test.py BUILD

exit 77: torch, triton or a C++ compiler is not there (ctest counts that as skipped)
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

try:
    import torch
    import triton
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not shutil.which("g++"):
    print("skipped: no g++")
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools/compiled_baselines"
BUILD = Path()

TASKS = """
defaults: {language: cuda, inputs: {x: [n, m]}, outputs: {y: [n, m]}, check: [{n: 3, m: 17}], timed: {n: 64, m: 256}}
tasks:
  - {name: unknown_operator, reference: torch.there_is_none(x)}
  - {name: softmax_twice, reference: "torch.softmax(x * 2, -1)"}
"""


def load_tool():
    loader = importlib.machinery.SourceFileLoader("compiled_baselines", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compiled_baselines", loader))
    loader.exec_module(module)
    module.set_up("cpu")
    return module


def given_tasks():
    return json.loads(subprocess.run([BUILD / "temper", "judge", "--tasks", "tasks.language=cuda"], cwd=ROOT, check=True,
                                     capture_output=True, text=True).stdout)


class References(unittest.TestCase):
    def test_each_becomes_a_function_that_is_right(self):
        tool, tasks = load_tool(), given_tasks()
        self.assertGreaterEqual(len(tasks), 185)
        for task in tasks:
            function = tool.python_function(task)
            for case in task["checks"]:
                with self.subTest(task=task["name"], shape=case["shape"]):
                    tool.check_outputs(task, case, function, function, tool.draw_inputs(case, "cpu", 1))

    def test_operators_that_python_keeps_elsewhere(self):
        tool = load_tool()
        source = "def reference(x):\n    return torch.scaled_dot_product_attention(x, x, x) + F.silu(x) + math.pi"
        x = torch.randn(2, 3, 5, 8)
        (y,) = tool.python_function({"name": "t", "reference": source})(x)
        expected = torch.nn.functional.scaled_dot_product_attention(x, x, x) + torch.nn.functional.silu(x) + torch.pi
        self.assertTrue(torch.equal(y, expected))

    def test_wrong_outputs_have_no_baseline(self):
        tool = load_tool()
        tasks = {task["name"]: task for task in given_tasks()}
        for name, change in (("gpu_layer_norm_plain", 1e-3), ("gpu_quantise", 1), ("gpu_rms_norm_bf16", 0.3)):
            task = tasks[name]
            case, function = task["checks"][0], tool.python_function(task)

            def wrong(*inputs):
                return tuple(y + change * (torch.arange(y.numel()).view(y.shape) == 3) for y in function(*inputs))
            with self.subTest(task=name), self.assertRaises(tool.WrongOutput):
                tool.check_outputs(task, case, function, wrong, tool.draw_inputs(case, "cpu", 1))

    def test_interval_is_that_of_the_judge(self):
        tool = load_tool()
        self.assertEqual(tool.median_interval(range(1, 8)), (4, 1, 7))
        self.assertEqual(tool.median_interval(range(1, 10)), (5, 2, 8))
        self.assertEqual(tool.median_interval(range(1, 22)), (11, 6, 16))


class Shapes(unittest.TestCase):
    def test_a_task_is_measured_at_each(self):
        tool = load_tool()
        task = next(task for task in given_tasks() if task["name"] == "gpu_softmax_weighted")
        self.assertEqual([case["shape"]["m"] for case in tool.cases_of(task)], [4096, 256, 131072])
        seen = []
        with unittest.mock.patch.object(tool, "prepare", lambda task, case, device: (None, None, case["shape"]["m"] != 256, case)), \
                unittest.mock.patch.object(tool, "time_pairs", lambda clock, eager, compiled, case: seen.append(case) or {
                    "eager_us": 1.5, "compiled_us": 2, "ratio": 2 ** len(seen), "ratio_low": 1, "ratio_high": 8 ** len(seen), "pairs": 7}):
            found = tool.measure(task, "cpu", None)
        self.assertEqual(seen, tool.cases_of(task))
        self.assertEqual(found, {"eager_us": 4.5, "compiled_us": 6, "pairs": 21, "ratio": 4, "ratio_low": 1, "ratio_high": 64,
                                 "fullgraph": False})

    def test_one_shape_is_as_it_is(self):
        one = {"eager_us": 1.23456, "ratio": 1.5}
        self.assertIs(load_tool().together([one]), one)


class KnownClock:
    """Says that call i of the one takes i + 1 us and the other's beside it 2, 4 and 3 times that, in turn."""

    def __init__(self, eager):
        self.eager, self.asked, self.aheads = eager, [], []

    def host_us(self, function, inputs):
        return 7

    def time(self, function, inputs, ahead_us):
        pair = len(self.asked) // 2
        self.asked.append((function is self.eager, inputs))
        self.aheads.append(ahead_us)
        return (pair + 1) * ((2, 4, 3)[pair % 3] if function is self.eager else 1)


class Pairs(unittest.TestCase):
    def time(self, pairs):
        tool = load_tool()
        tool.PAIRS = pairs

        def eager(_):
            pass

        def compiled(_):
            pass
        clock = KnownClock(eager)
        return tool.time_pairs(clock, eager, compiled, [("a",), ("b",)]), clock

    def test_take_turns_on_the_same_inputs(self):
        _, clock = self.time(11)
        self.assertEqual([first for first, _ in clock.asked], ([True, False, False, True] * 6)[:22])
        self.assertEqual([inputs for _, (inputs,) in clock.asked], (["a", "a", "b", "b"] * 6)[:22])
        self.assertEqual(set(clock.aheads), {50 + 2 * 7})

    def test_the_ratio_is_the_median_of_pairs(self):
        found, _ = self.time(11)
        self.assertEqual(found, {"eager_us": 18, "compiled_us": 6, "ratio": 3, "ratio_low": 2, "ratio_high": 4, "pairs": 11})


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tasks, self.out = Path(self.folder.name) / "tasks.yaml", Path(self.folder.name) / "new/baselines.json"
        self.tasks.write_text(TASKS)

    def tearDown(self):
        self.folder.cleanup()

    def words(self, *more):
        options = ("--build", BUILD, "--device", "cpu", "--jobs", 1, "--out", self.out)
        return [str(word) for word in (TOOL, *options, self.tasks, *more)]

    def run_here(self, tool, *more):
        """As a program, but Inductor looks at the compiler once and not each time, which takes it long."""
        out, err = io.StringIO(), io.StringIO()
        with unittest.mock.patch("sys.argv", self.words(*more)), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(err), self.assertRaises(SystemExit) as end:
            tool.main()
        return end.exception.code, out.getvalue(), err.getvalue()

    def entries(self):
        return json.loads(self.out.read_text())["baselines"]

    def test_times_keeps_and_skips(self):
        tool = load_tool()
        code, out, err = self.run_here(tool)
        self.assertEqual(code, 1, err)
        self.assertRegex(out, r"unknown_operator +no baseline: AttributeError: .*there_is_none")
        (entry,) = self.entries()
        self.assertEqual((entry["task"], entry["shape"]), ("softmax_twice", {"n": 64, "m": 256}))
        self.assertEqual((entry["torch"], entry["triton"]), (torch.__version__, triton.__version__))
        self.assertTrue(entry["gpu"].startswith("none") and entry["fullgraph"])
        self.assertTrue(0 < entry["ratio_low"] <= entry["ratio"] <= entry["ratio_high"])
        self.assertIn("1 of 2 tasks to time", self.run_here(tool)[2])
        self.assertEqual(self.entries(), [entry])
        self.assertIn("2 of 2 tasks to time", self.run_here(tool, "--again")[2])
        (again,) = self.entries()
        self.assertEqual(again["digest"], entry["digest"])

    def test_a_benchmark_measures_and_writes_nothing(self):
        code, out, err = self.run_here(load_tool(), "--bench", "2")
        self.assertEqual(code, 1, err)
        self.assertRegex(out, r"unknown_operator +no baseline: AttributeError")
        self.assertRegex(out, r"softmax_twice +[\d.]+ +[\d.]+% +[012] +[\d.]+%")
        self.assertFalse(self.out.exists())
        self.assertEqual(self.run_here(load_tool(), "--bench", "-1")[0], 2)

    def test_mistakes(self):
        self.out.parent.mkdir()
        self.out.write_text("{}")
        said = subprocess.run([sys.executable, *self.words()], capture_output=True, text=True)
        self.assertEqual(said.returncode, 2)
        self.assertRegex(said.stderr, r"baselines.json: not a file of baselines: KeyError: 'format'")
        bare = subprocess.run([sys.executable, "-S", TOOL], capture_output=True, text=True)
        self.assertEqual(bare.returncode, 2)
        self.assertIn("run it with a Python that has torch 2.11 and triton", bare.stderr)


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
