"""Both verdicts on candidates that are right, wrong, or right for the wrong reason."""
import unittest

from module_judge import HEAD, LINEAR, JudgeTest, drive, load_request, options

MATMUL = HEAD + """
class Model(nn.Module):
    def forward(self, a, b):
        return a @ b

def get_inputs():
    return [torch.rand(24, 512), torch.rand(512, 40)]

def get_init_inputs():
    return []
"""
COUNTED = HEAD + """
class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1), x.sum(dim=1)

def get_inputs():
    return [torch.randn(20, 300)]

def get_init_inputs():
    return []
"""
CHAOS = HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(24)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(64) for _ in range(24)])

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = torch.relu(norm(layer(x)))
        return x

def get_inputs():
    return [torch.rand(2, 64)]

def get_init_inputs():
    return []
"""
TF32 = """
def rounded(x):
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

class ModelNew(nn.Module):
    def forward(self, a, b):
        return rounded(a) @ rounded(b)
"""
RIGHT = """
class ModelNew(nn.Module):
    def __init__(self, columns, features):
        super().__init__()
        self.linear = nn.Linear(columns, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = x @ self.linear.weight.t() + self.linear.bias
        y = y - y.mean(-1, keepdim=True)
        return y * torch.rsqrt((y * y).mean(-1, keepdim=True) + self.norm.eps) * self.norm.weight + self.norm.bias
"""


class Verdicts(JudgeTest):
    def both(self, result):
        return result["comparable"]["correct"], result["strict"]["right"]

    def test_the_reference_itself(self):
        result = self.judge(LINEAR, "class ModelNew(Model):\n    pass\n", pairs=2, device_times=2)
        self.assertEqual(self.both(result), (True, True), result)
        self.assertEqual(result["comparable"]["trials"], "(2 / 2)")
        self.assertGreater(result["comparable"]["candidate_ms"], 0)

    def test_another_way_to_compute_it(self):
        result = self.judge(LINEAR, RIGHT)
        self.assertEqual(self.both(result), (True, True), result)

    def test_scales_and_biases_left_out(self):
        result = self.judge(LINEAR, RIGHT.replace("* self.norm.weight + self.norm.bias", ""))
        self.assertEqual(self.both(result), (True, False), result)
        self.assertEqual(result["strict"]["reason"], "tolerance")
        self.assertRegex(result["strict"]["message"], r"^y\[\d+,\d+\] is .*, not .*; \d+ of 1320 wrong$")

    def test_weights_of_other_names(self):
        """Known by the values that KernelBench's seed gives both, and by their order where they are constant."""
        renamed = RIGHT.replace("self.linear = nn.Linear(columns, features)", "made = nn.Linear(columns, features)\n        "
                                "self.w, self.b = nn.Parameter(made.weight.clone()[None]), nn.Parameter(made.bias.clone()[:, None])")
        renamed = renamed.replace("self.linear.weight", "self.w[0]").replace("self.linear.bias", "self.b[:, 0]")
        for source in (RIGHT.replace("self.norm", "self.last"), renamed, renamed.replace("self.norm", "self.last"),
                       renamed.replace("nn.Parameter(made.weight.clone()[None])", "made.weight.detach()[None].clone()")):
            result = self.judge(LINEAR, source)
            self.assertEqual(self.both(result), (True, True), result)
        wrong = RIGHT.replace("self.norm", "self.last").replace("* self.last.weight + self.last.bias", "")
        self.assertEqual(self.both(self.judge(LINEAR, wrong)), (True, False))

    def test_weights_that_cannot_be_matched(self):
        transposed = RIGHT.replace("self.linear = nn.Linear(columns, features)", "made = nn.Linear(columns, features)\n        "
                                   "self.w, self.linear_bias = nn.Parameter(made.weight.t().clone()), made.bias")
        transposed = transposed.replace("self.linear.weight.t()", "self.w").replace("self.linear.bias", "self.linear_bias")
        left_over = RIGHT.replace("self.norm =", "self.more = nn.Parameter(torch.rand(3))\n        self.norm =")
        for source, words in ((transposed, "missing: linear.weight; not of Model: w; w is linear.weight transposed"),
                              (RIGHT.replace("self.linear", "self.fc").replace("self.norm =", "self.fc.weight.data *= 1.01\n        self.norm ="),
                               "missing: linear.weight; not of Model: fc.weight"),
                              (left_over, "(not of Model: more)"),
                              (RIGHT.replace("nn.LayerNorm(features)", "nn.LayerNorm(1)"), "of another shape: norm.bias, norm.weight")):
            told = self.judge(LINEAR, source)["strict"]
            self.assertEqual(told["stage"], "weights", told)
            self.assertIn(words, told["message"])

    def test_rounding_to_tf32(self):
        result = self.judge(MATMUL, TF32)
        self.assertEqual(self.both(result), (True, False), result)

    def test_a_sum_in_another_order(self):
        result = self.judge(MATMUL, "class ModelNew(nn.Module):\n    def forward(self, a, b):\n"
                            "        return sum(a[:, i:i + 1] * b[i:i + 1] for i in range(a.shape[1]))\n")
        self.assertEqual(self.both(result), (True, True), result)

    def test_only_for_positive_inputs(self):
        problem = MATMUL.replace("a @ b", "torch.relu(a @ b)")
        result = self.judge(problem, "class ModelNew(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n", draws=1)
        self.assertEqual(self.both(result), (True, False), result)

    def test_integers_are_exact(self):
        right = "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x.max(dim=1).indices, x.sum(dim=1)\n"
        result = self.judge(COUNTED, right)
        self.assertEqual(self.both(result), (True, True), result)
        result = self.judge(COUNTED, right.replace(".indices", ".indices ^ (x[:, 0] > 1).long()"))
        self.assertEqual(self.both(result), (False, False), result)
        self.assertRegex(result["comparable"]["first_wrong"]["message"], r"^output 0 \[\d+\] is \d+, not \d+; ")

    def test_shape_and_type(self):
        for change, reason in ((".t()", "shape"), (".double()", "dtype"), (".to(torch.float16)", "dtype")):
            result = self.judge(MATMUL, f"class ModelNew(nn.Module):\n    def forward(self, a, b):\n        return (a @ b){change}\n")
            self.assertEqual((*self.both(result), result["strict"]["reason"]), (False, False, reason), result)

    def test_nothing_is_written(self):
        source = "class ModelNew(nn.Module):\n    def forward(self, a, b):\n        return torch.full((24, 40), float('nan'))\n"
        result = self.judge(MATMUL, source)
        self.assertEqual(result["strict"]["reason"], "nan", result)

    def test_results_kept_from_call_to_call(self):
        kept = """
class ModelNew(nn.Module):
    def forward(self, a, b):
        if not hasattr(self, "y"):
            self.y = a @ b
        return self.y
"""
        self.assertEqual(self.both(self.judge(MATMUL, kept)), (False, False))

    def test_nothing_can_be_told_where_the_reference_errs_by_its_outputs(self):
        told = self.reference.load(**load_request(CHAOS, precision="bf16", tolerance=1e-2))
        self.assertEqual((told["status"], told.get("reason")), ("failed", "chaotic"), told)
        self.assertRegex(told["message"], r"^the reference in bf16 is off the same in float64 by \d+% of the outputs' mean size")
        self.assertTrue(self.judge(CHAOS.replace("range(24)", "range(1)"), "class ModelNew(Model):\n    pass\n", precision="bf16",
                                   tolerance=1e-2)["strict"]["right"])

    def test_a_copy_that_computes_with_what_was_copied(self):
        """A closure holds the modules: a Model that is built once more has its own."""
        closure = LINEAR.replace("        self.norm = nn.LayerNorm(features)\n", "        self.norm = nn.LayerNorm(features)\n"
                                 "        linear, norm = self.linear, self.norm\n        self.both = lambda x: norm(linear(x.to(CAST)))\n")
        for cast in ("x.dtype", "linear.weight.dtype"):
            problem = closure.replace("return self.norm(self.linear(x))", "return self.both(x)").replace("CAST", cast)
            result = self.judge(problem, RIGHT)
            self.assertEqual((result["problem"]["without_float64"], *self.both(result)), ("", True, True), result)
            wrong = RIGHT.replace("return y * ", "y = y.to(torch.bfloat16).float()\n        return y * ")
            self.assertEqual(self.both(self.judge(problem, wrong))[1], False)

    def test_what_the_reference_promises_is_kept(self):
        problem = MATMUL.replace("a @ b", "torch.triu(a @ b)").replace("torch.rand(24, 512), torch.rand(512, 40)",
                                                                       "torch.triu(torch.rand(48, 48)), torch.triu(torch.rand(48, 48))")
        right = "class ModelNew(nn.Module):\n    def forward(self, a, b):\n        return (a.triu() @ b.triu()).triu()\n"
        result = self.judge(problem, right, draws=12)
        self.assertEqual(self.both(result), (True, True), result)
        result = self.judge(problem.replace("torch.triu(a @ b)", "torch.relu(a)"), right.replace("(a.triu() @ b.triu()).triu()", "a"))
        self.assertEqual(self.both(result), (True, False), result)

    def test_what_the_reference_writes_into_its_inputs(self):
        problem = MATMUL.replace("a @ b", "a.mul_(2) @ b")
        result = self.judge(problem, "class ModelNew(Model):\n    pass\n")
        self.assertTrue(result["strict"]["right"], result)

    def test_sixteen_bits(self):
        for precision in ("fp16", "bf16"):
            result = self.judge(LINEAR, RIGHT, precision=precision, tolerance=1e-2)
            self.assertEqual(self.both(result), (True, True), result)

    def test_errors_of_a_candidate(self):
        cases = [("class Other(nn.Module):\n    pass\n", "import", "NameError", "no class ModelNew"),
                 ("import torch.no_such_module\n", "import", "ModuleNotFoundError", "line 3: import torch.no_such_module"),
                 ("raise SystemExit(0)\n", "import", "SystemExit", ""),
                 ("class ModelNew(nn.Module)\n", "import", "SyntaxError", "line 3"),
                 ("class ModelNew(nn.Module):\n    pass\n", "construct", "TypeError", "takes 1 positional argument but 3"),
                 (RIGHT.replace("return y *", "return undefined *"), "forward", "NameError", "'undefined' is not defined (line 13: ")]
        for source, stage, error, words in cases:
            result = self.judge(LINEAR, source)
            answer = result.get("candidate") or result["strict"]
            self.assertEqual((answer["status"], answer["stage"], answer["error"]), ("failed", stage, error), answer)
            self.assertIn(words, answer["message"])
            self.assertNotIn("/tmp", answer["message"] + answer["traceback"])
        self.assertTrue(self.judge(LINEAR, RIGHT)["strict"]["right"])

    def test_modules_that_may_not_be_imported(self):
        before = "class ModelNew(nn.Module):\n    pass\n"
        cases = [("import no_such_module\n", "no_such_module may not be imported (line 3: import no_such_module); use torch"),
                 ("import os.path, gc as waste\n", "gc may not be imported (line 3"), ("from sys import modules\n", "sys may not"),
                 ("from torch import sys\n", "sys may not be used (line 3"), ("import torch.multiprocessing\n", "torch.multiprocessing may"),
                 ("import warnings as w\nlater = w\nframe = later.sys\n", "sys may not be used (line 5"), ("def f():\n    import ctypes\n", "ctypes may"),
                 ("import collections\ncollections._sys\n", "_sys may not be used (line 4"), ("from enum import bltns\n", "bltns may not"),
                 ("print.__self__.__loader__\n", "__loader__ may not be used"), ("from . import other\n", ". may not be imported"),
                 ("eval('__imp' + 'ort__')('ctypes')\n", "ctypes may not be imported; use"),
                 ("exec('import ' + 'gc')\n", "gc may not be imported; use"),
                 ("try:\n    exec('import ' + 'gc')\nexcept BaseException:\n    pass\n", "gc may not be imported; use"),
                 ("getattr(torch, 'import' + 'lib').import_module('ctypes')\n", "ctypes may not be imported; use")]
        judge = drive.Judge(options(LINEAR), self.reference)
        for source, words in cases:
            answer = judge.prepare(self.processes[0], HEAD + source + before, "cuda")
            self.assertEqual((answer.get("kind"), answer.get("reason")), ("REJECT_POLICY", "import"), (source, answer))
            self.assertIn(words, answer["message"])

    def test_what_is_refused_is_compared_without_the_list(self):
        for refused, source in (("candidate", "import sys\n" + RIGHT),
                                ("strict", RIGHT.replace("y = x @", "exec('import ' + 'gc')\n        y = x @"))):
            result = self.judge(LINEAR, source)
            self.assertEqual((result[refused].get("kind"), result[refused].get("reason")), ("REJECT_POLICY", "import"), result)
            self.assertEqual((result["comparable"]["correct"], result["comparable"]["trials"]), (True, "(2 / 2)"), result)
        wrong = self.judge(LINEAR, "import sys\n" + RIGHT.replace("return y", "return 2 * y"))["comparable"]
        self.assertEqual((wrong["correct"], wrong["trials"]), (False, "(0 / 2)"), wrong)
        wrong = self.judge(LINEAR, "import no_such_module\n" + RIGHT)["comparable"]
        self.assertEqual((wrong["correct"], wrong["first_wrong"]["error"]), (False, "ModuleNotFoundError"), wrong)

    def test_flags_that_may_not_be_given(self):
        """They are refused by name even where the refusal is caught."""
        ask = "load_inline(name='one', cpp_sources='int f();', extra_cflags=['-O3', '-include /etc/passwd'])\n"
        for source in ("from torch.utils.cpp_extension import load_inline\n" + ask,
                       "from torch.utils.cpp_extension import load_inline\ntry:\n    " + ask + "except BaseException:\n    pass\n"):
            told = self.judge(LINEAR, source + RIGHT)["candidate"]
            self.assertEqual((told.get("kind"), told.get("reason")), ("REJECT_POLICY", "flag"), told)
            self.assertIn("the flag -include /etc/passwd may not be given", told["message"])

    def test_modules_that_may_be_imported(self):
        source = "import array, base64, datetime, decimal, io, json, re, string, time, zlib\nimport os, math, functools, numpy as np\nfrom torch.utils.cpp_extension import load_inline\n"
        late = RIGHT.replace("y = x @", "import torch.nn.functional as F, copy\n        self.inspect = self.sys = 1\n        y = x @")
        result = self.judge(LINEAR, source + late)
        self.assertEqual(self.both(result), (True, True), result)

    def test_lazy_tensors(self):
        lazy = """
class Lazy(torch.Tensor):
    pass

class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a @ b).as_subclass(Lazy)
"""
        self.assertIn("returns Lazy; return a torch.Tensor", self.judge(MATMUL, lazy)["strict"]["message"])


if __name__ == "__main__":
    unittest.main()
