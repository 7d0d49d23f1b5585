"""What get_inputs() promises is learned and kept, and what it does not promise is not."""
import unittest

import sources  # noqa: F401
import torch

import draws
from problem import Problem

SOURCE = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def forward(self, *x):
        return x[0]
def get_inputs():
    return [INPUTS]
def get_init_inputs():
    return []
"""


def rows_sum(x, wanted):
    return bool(((x.double().sum(-1) - wanted).abs() <= 1e-4 * x.double().abs().sum(-1) + 1e-5).all())


# (inputs, whether an input keeps the promise, words)
PROMISES = [
    ("torch.triu(torch.rand(24, 24))", lambda x: torch.equal(x, x.triu()), "is upper triangular"),
    ("torch.tril(torch.randn(3, 24, 24))", lambda x: torch.equal(x, x.tril()), "is lower triangular"),
    ("torch.diag(torch.rand(30))", lambda x: torch.equal(x, x.diag().diag()), "is diagonal"),
    ("torch.rand(20, 20).tril(1).triu(-2)", lambda x: torch.equal(x, x.tril(1).triu(-2)), "is banded"),
    ("torch.rand(20, 20).tril(-1) + torch.eye(20)", lambda x: torch.equal(x.triu(), torch.eye(20)), "is lower triangular"),
    ("(lambda a: a + a.t())(torch.rand(20, 20))", lambda x: torch.equal(x, x.t()), "is symmetric"),
    ("(lambda a: a + a.transpose(1, 2))(torch.randn(2, 9, 9))", lambda x: torch.equal(x, x.transpose(1, 2)), "is symmetric"),
    ("torch.eye(10)[torch.randint(0, 10, (30,))]", lambda x: bool(((x == 0) | (x == 1)).all() and (x.sum(-1) == 1).all()), "has few values"),
    ("(torch.rand(30, 30) > 0.5).float()", lambda x: bool(((x == 0) | (x == 1)).all()), "has few values"),
    ("torch.where(torch.rand(9, 30) > 0.5, 0.0, float('-inf'))", lambda x: bool(((x == 0) | x.isinf()).all()), "has few values"),
    ("torch.full((8, 8), float('-inf')).triu(1)", lambda x: torch.equal(x, torch.full((8, 8), float("-inf")).triu(1)), "is always the same"),
    ("torch.sort(torch.rand(5, 40)).values", lambda x: bool((x.diff(dim=-1) >= 0).all()), "rises along axis 1"),
    ("torch.sort(torch.rand(40, 5), dim=0, descending=True).values", lambda x: bool((x.diff(dim=0) <= 0).all()), "falls along axis 0"),
    ("torch.softmax(torch.randn(20, 50), -1)", lambda x: bool((x >= 0).all()) and rows_sum(x, 1), "sums to 1 along axis 1"),
    ("(lambda a: a - a.mean(-1, keepdim=True))(torch.rand(20, 50))", lambda x: rows_sum(x, 0), "along axis 1"),
    ("nn.functional.normalize(torch.randn(20, 50), dim=-1)", lambda x: rows_sum(x * x, 1), "has squares that sum to 1 along axis 1"),
    ("torch.randint(0, 1000, (20, 50)).float()", lambda x: torch.equal(x, x.round()), "holds integers"),
    ("torch.randperm(50).float()", lambda x: torch.equal(x.sort().values, torch.arange(50.0)), "has few values"),
    ("torch.rand(1, 50).expand(9, 50)", lambda x: bool((x == x[0]).all()), "is equal along axis 0"),
    ("torch.rand(20, 1).repeat(1, 7)", lambda x: bool((x == x[:, :1]).all()), "is equal along axis 1"),
    ("torch.arange(40.0)", lambda x: torch.equal(x, torch.arange(40.0)), "is always the same"),
]


class Promises(unittest.TestCase):
    def drawn(self, inputs, trials=2 * len(draws.FORMS), **named):
        problem = Problem(SOURCE.replace("INPUTS", inputs), "fp32", "cpu")
        known = draws.learn(problem)
        return known, [draws.strict_inputs(problem, "key", trial, True, False, structures=known, **named) for trial in range(trials)]

    def test_they_are_kept(self):
        for inputs, holds, words in PROMISES:
            (known,), made = self.drawn(inputs)
            for (value,), form in made:
                self.assertTrue(holds(value), (inputs, form))
            self.assertTrue(any(words in one for one in known.words("x")), (inputs, known.words("x")))

    def test_those_that_are_not_fixed_still_depart(self):
        for inputs, _, words in PROMISES:
            if words in ("has few values", "is always the same"):
                continue
            problem = Problem(SOURCE.replace("INPUTS", inputs), "fp32", "cpu")
            known = draws.learn(problem)
            for form in ("spikes", "sparse", "scales", "ends", "structure"):
                plain = draws.strict_inputs(problem, "key", 3, True, False, True, known)[0][0]
                after = draws.departed(plain.clone(), form, False, 5, known[0])
                if (form, words) not in (("scales", "has squares that sum to 1 along axis 1"), ("scales", "sums to 1 along axis 1")):
                    self.assertTrue(bool(after.isfinite().all()))
                    if not torch.equal(plain, after):
                        break
            else:
                self.fail(f"{inputs} never departs")

    def test_sign_and_range_are_no_promise(self):
        for inputs in ("torch.rand(40, 40)", "torch.rand(4000)", "torch.randn(3, 5, 7).abs()", "torch.rand(2, 3)", "torch.relu(torch.randn(50, 50))",
                       "torch.rand(1000000)"):
            (known,), made = self.drawn(inputs)
            self.assertFalse(known.kept)
            self.assertEqual((known.symmetric, known.equal, known.sorted, known.sums, known.norms, known.integers),
                             (False, [], {}, {}, {}, False), inputs)
            self.assertTrue(any(bool((value < 0).any()) for (value,), _ in made), inputs)

    def test_equal_inputs(self):
        (_, second), made = self.drawn("*(lambda a: (a, a.clone()))(torch.rand(5, 6))")
        self.assertEqual(second.same_as, 0)
        self.assertTrue(all(torch.equal(*values) for values, _ in made))

    def test_sixteen_bits(self):
        problem = Problem(SOURCE.replace("INPUTS", "torch.triu(torch.rand(24, 24))"), "bf16", "cpu")
        known = draws.learn(problem)
        for trial in range(10):
            (value,), _ = draws.strict_inputs(problem, "key", trial, True, False, structures=known)
            self.assertTrue(torch.equal(value, value.triu()) and value.dtype == torch.bfloat16)


if __name__ == "__main__":
    unittest.main()
