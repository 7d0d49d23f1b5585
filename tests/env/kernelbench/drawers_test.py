"""Draws in processes of their own are those that KernelBench makes."""
import unittest

import module_judge  # noqa: F401
import torch

import comparable
import drawers
from problem import Problem

SOURCE = """
import torch
class Model(torch.nn.Module):
    pass
def get_inputs():
    return [torch.randn(64, 100), 3, torch.rand(5, 4).t(), torch.randint(0, 9, (7,)), torch.rand(3) < 0.5, torch.empty(0, 4)]
def get_init_inputs():
    return []
"""


class Drawers(unittest.TestCase):
    def test_the_same_draws(self):
        several = drawers.Drawers([])
        for precision in ("fp32", "bf16"):
            problem = Problem(SOURCE, precision, "cpu")
            for integers in (True, False):
                drawings = [several.start(problem, precision, integers, seed) for seed in (5, 6)]
                for seed, drawing in zip((5, 6), drawings):
                    wanted = [problem.cast(one, integers) for one in comparable.draw_inputs(problem, seed)]
                    for one, other in zip(drawing.inputs("cpu"), wanted, strict=True):
                        if not isinstance(other, torch.Tensor):
                            self.assertEqual(one, other)
                            continue
                        self.assertTrue(torch.equal(one, other))
                        self.assertEqual((one.dtype, one.stride()), (other.dtype, other.stride()))
        several.channel.close()

    def test_what_fails_there_gives_nothing(self):
        several, problem = drawers.Drawers([]), Problem(SOURCE, "fp32", "cpu")
        problem.source = "x ="
        self.assertIsNone(several.start(problem, "fp32", True, 5).inputs("cpu"))
        several.channel.close()


if __name__ == "__main__":
    unittest.main()
