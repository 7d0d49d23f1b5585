"""References whose result is drawn in forward are refused by name, in whatever form they draw; one that keeps a state is told from them; and one
whose result does not depend on what it draws is judged."""
import unittest

import sources  # noqa: F401

import judged
import room
from problem import ProblemError

SOURCE = """
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        MADE

    def forward(self, x):
        return RESULT

def get_inputs():
    return [torch.rand(2, 3, 16, 16)]

def get_init_inputs():
    return []
"""
DRAWN = ["F.dropout(x, 0.2)", "F.dropout2d(x, 0.5)", "self.layer(x)", "x * torch.empty_like(x).bernoulli_(0.5)", "x + torch.rand_like(x)",
         "x + torch.randn(x.shape)", "F.rrelu(x - 0.5, training=True)", "F.fractional_max_pool2d(x, 2, output_size=7)",
         "x.view(6, -1).gather(1, torch.multinomial(x.view(6, -1), 4))", "x[:, :, torch.randperm(16)]", "x * random.random()",
         "F.gumbel_softmax(x)", "torch.normal(x, 0.1)", "F.alpha_dropout(x, 0.3, training=True)", "x.add_(torch.rand(1))"]
STATES = [("self.calls = 0", "self.count(x)"), ("self.register_buffer('last', torch.zeros(2, 3, 16, 16))", "self.keep(x)")]
METHODS = """
    def count(self, x):
        self.calls += 1
        return x * self.calls

    def keep(self, x):
        self.last += x
        return self.last.clone()

def get_inputs"""
FREE = [("self.layer = nn.BatchNorm2d(3)", "self.layer(x)"), ("self.layer = nn.Dropout(0.5)", "self.layer(x) * 0"), ("pass", "F.dropout(x, 0.0)"),
        ("self.layer = nn.Dropout(0.5).eval()", "self.layer(x)"), ("pass", "x + 0 * torch.randn_like(x)"),
        ("pass", "x * (1 + 1e-6 * torch.rand(()))"),  # as little as another order of additions
        ("self.layer = nn.LSTM(16, 8, batch_first=True)",
         "self.layer(x.view(2, 48, 16), (torch.randn(1, 2, 8, device=x.device) * 1e-12, torch.zeros(1, 2, 8)))[0][:, -1]")]


def load(made, result):
    source = SOURCE.replace("MADE", made).replace("RESULT", result).replace("\ndef get_inputs", METHODS, 1)
    return judged.Loaded({"source": source, "precision": "fp32", "tolerance": 1e-4, "trials": 1}, "cpu", room.Room("cpu"))


class RandomReferences(unittest.TestCase):
    def refused(self, made, result):
        with self.assertRaises(ProblemError, msg=result) as caught:
            load(made, result)
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception.reason

    def test_each_form_is_named(self):
        for result in DRAWN:
            self.assertEqual(self.refused("self.layer = nn.Dropout(0.2)", result), "draws_in_forward", result)

    def test_a_state_is_named(self):
        for made, result in STATES:
            self.assertEqual(self.refused(made, result), "keeps_a_state", result)

    def test_what_does_not_depend_on_it_is_judged(self):
        for made, result in FREE:
            loaded = load(made, result)
            reply = loaded.reply()
            self.assertEqual(reply["without_float64"], "", result)
            loaded.strict.use_weights("key")
            for trial in range(3):
                drawn = loaded.strict.made(trial, "key")
                again = loaded.strict.run(loaded.strict.model, drawn.inputs)
                self.assertTrue(drawn.compare([one.contiguous() for one in again], loaded.tolerance).right, result)


if __name__ == "__main__":
    unittest.main()
