"""Answers that are right for the inputs that a problem draws, and wrong for others of the kind, fail in the ten draws of each verdict. Right
answers by other arithmetic never do."""
import functools
import os
import re
import unittest
import unittest.mock

import sources  # noqa: F401
import torch

import draws
import judged
import room
import specials

DRAWS = 10  # of a verdict: three checks and seven timed calls at least
KEYS = int(os.environ.get("TEMPER_KEYS", "3"))
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
SAMPLED = 32

SHAPES = ("torch.rand(64, 1024)", "torch.randn(64, 1024)", "torch.rand(4, 4096)", "torch.randn(2, 8, 2048)")
PAIRS = ("torch.rand(64, 1024), torch.rand(64, 1024)", "torch.randn(3, 4096), torch.randn(3, 4096)")


def places(x):
    generator = torch.Generator().manual_seed(x.shape[-1])
    return torch.randint(0, x.shape[-1], (SAMPLED,), generator=generator).sort().values


def layer_norm(x):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt((x - mean).square().mean(-1, keepdim=True) + 1e-5)


def one_pass(x):
    mean = x.mean(-1, keepdim=True)
    return (x - mean) * torch.rsqrt((x * x).mean(-1, keepdim=True) - mean * mean + 1e-5)


def by_squares(x, y):
    return (x * x).sum(-1) + (y * y).sum(-1) - 2 * (x * y).sum(-1)


def softmax(x):
    weight = torch.exp(x - x.amax(-1, keepdim=True))
    return weight / weight.sum(-1, keepdim=True)


def without_maximum(x):
    return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)


def zero_rows(x):
    empty = (x[..., places(x)] == 0).all(-1)
    return torch.where(empty, 0, x.norm(dim=-1))


def constant_rows(x):
    some = x[..., places(x)]
    even = (some == some[..., :1]).all(-1)
    return torch.where(even, 0, x.var(-1))


def same_inputs(x, y):
    alike = (x[..., places(x)] == y[..., places(x)]).all(-1)
    return torch.where(alike, 0, (x - y).square().sum(-1))


def ascending_rows(x):
    rises = (x[..., places(x)].diff(dim=-1) >= 0).all(-1)
    return torch.where(rises, x[..., -1], x.amax(-1))


def descending_rows(x):
    falls = (x[..., places(x)].diff(dim=-1) <= 0).all(-1)
    return torch.where(falls, x[..., 0], x.amax(-1))


# name: (the reference's forward, inputs, the wrong answer, a right one by other arithmetic)
CASES = {
    "garbage_beyond_128": ("torch.relu(x)", SHAPES, lambda x: torch.relu(x).where(x < 128, 0), lambda x: torch.where(x < 0, 0, x)),
    "garbage_beyond_5000": ("F.gelu(x)", SHAPES, lambda x: F_gelu(x).where(x.abs() < 5000, 0), lambda x: F_gelu(x.double()).float()),
    "one_pass_variance": ("F.layer_norm(x, x.shape[-1:])", SHAPES, one_pass, layer_norm),
    "distance_by_squares": ("(x - y).square().sum(-1)", PAIRS, by_squares, lambda x, y: torch.einsum("...i,...i", x - y, x - y)),
    "softmax_without_maximum": ("torch.softmax(x, -1)", SHAPES, without_maximum, softmax),
    "relu_loses_nan": ("torch.relu(x)", SHAPES, lambda x: torch.where(x > 0, x, 0), lambda x: torch.maximum(x, torch.zeros(()))),
    "maximum_loses_nan": ("torch.maximum(x, y)", PAIRS, torch.fmax, lambda x, y: torch.where(x > y, x, torch.where(x.isnan(), x, y))),
    "clamp_of_nan": ("torch.clamp(x, -0.5, 0.5)", SHAPES, lambda x: torch.fmin(torch.fmax(x, torch.tensor(-0.5)), torch.tensor(0.5)),
                     lambda x: torch.where(x < -0.5, -0.5, torch.where(x > 0.5, 0.5, x))),
    "infinity_becomes_nan": ("torch.relu(x)", SHAPES, lambda x: x * (x > 0), lambda x: torch.where(x <= 0, 0, x)),
    "infinity_less_infinity": ("torch.clamp(x, max=0.5)", SHAPES, lambda x: x - torch.relu(x - 0.5), lambda x: torch.where(x > 0.5, 0.5, x)),
    "rows_of_zeros_by_a_sample": ("x.norm(dim=-1)", SHAPES, zero_rows, lambda x: torch.sqrt((x * x).sum(-1))),
    "constant_rows_by_a_sample": ("x.var(-1)", SHAPES, constant_rows, lambda x: (x - x.mean(-1, keepdim=True)).square().sum(-1) / (x.shape[-1] - 1)),
    "alike_inputs_by_a_sample": ("(x - y).square().sum(-1)", PAIRS, same_inputs, lambda x, y: torch.einsum("...i,...i", x - y, x - y)),
    "ascending_rows_by_a_sample": ("x.amax(-1)", SHAPES[:2], ascending_rows, lambda x: x.sort(-1).values[..., -1]),
    "descending_rows_by_a_sample": ("x.amax(-1)", SHAPES[:2], descending_rows, lambda x: x.sort(-1).values[..., -1]),
}


def F_gelu(x):
    return torch.nn.functional.gelu(x)


def source_of(forward, inputs):
    names = "x, y" if re.search(r"\by\b", forward) else "x"
    return HEAD + (f"class Model(nn.Module):  # NaN stays NaN\n    def forward(self, {names}):\n        return {forward}\n"
                   f"def get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return []\n")


@functools.cache
def load(source, precision="fp32", tolerance=1e-4):
    request = {"source": source, "precision": precision, "tolerance": tolerance, "trials": 1}
    loaded = judged.Loaded(request, "cpu", room.Room("cpu"))
    loaded.reply()
    return loaded


def wrong_draws(loaded, answer, key, count=DRAWS):
    """(form, message) of each draw in which the answer is wrong."""
    loaded.strict.use_weights(key)
    found = []
    for trial in range(count):
        drawn = loaded.strict.made(trial, key)
        got = [one.contiguous() for one in judged.strict.flat_results(answer(*[one.clone() for one in drawn.inputs]))]
        result = drawn.compare(got, loaded.tolerance)
        found += [] if result.right else [(drawn.form, result.message)]
    return found


class Departures(unittest.TestCase):
    def test_they_fail_in_every_verdict(self):
        for name, (forward, several, wrong, right) in CASES.items():
            for inputs in several:
                loaded = load(source_of(forward, inputs))
                for key in map(str, range(KEYS)):
                    self.assertNotEqual(wrong_draws(loaded, wrong, key), [], (name, inputs, key))
                    self.assertEqual(wrong_draws(loaded, right, key), [], (name, inputs, key))

    def test_what_is_pointwise_is_seen_on_a_part(self):
        """The trial takes no more than a part where the reference allows that, and finds the same."""
        for most in (specials.MOST, 4096):
            with unittest.mock.patch.object(specials, "MOST", most):
                for forward, inputs, found in (("torch.relu(x)", SHAPES[0], {0}), ("x + 2 * y", PAIRS[0], {0, 1}), ("torch.softmax(x, -1)", SHAPES[0], set()),
                                               ("x.cumsum(0)", SHAPES[0], set()), ("x.view(64, 1024).sigmoid()", SHAPES[0], {0}), ("x.t()", SHAPES[0], set()),
                                               ("x * y", "torch.rand(64, 1024), torch.rand(1024)", {0}), ("x.flip(-1)", SHAPES[0], set())):
                    loaded = load.__wrapped__(source_of(forward, inputs))
                    loaded.strict.use_weights("a")
                    self.assertEqual(set(loaded.strict.special_inputs()), found, (forward, most))

    def test_references_in_float64_are_made_when_they_are_asked_for(self):
        """Except for the first draws of a kind, of which it is not known yet whether they are chaotic."""
        loaded, calls = load.__wrapped__(source_of("torch.softmax(x, -1)", SHAPES[0])), []
        truths = loaded.strict.truths
        with unittest.mock.patch.object(loaded.strict, "truths", lambda inputs: calls.append(1) or truths(inputs)):
            for key in "abcd":
                loaded.strict.use_weights(key)
                calls.clear()
                several = [loaded.strict.made(trial, key) for trial in range(DRAWS)]
            self.assertEqual(calls, [])
            self.assertGreater(len(several[0].expected[0].reference), 0)
            self.assertEqual(several[0].expected, several[0].expected)
            self.assertEqual(calls, [1])

    def test_what_the_reference_cannot_follow(self):
        """Logarithms, and numbers that overflow: such draws go less far, or keep the range."""
        for forward in ("torch.log(x)", "torch.exp(8 * x)", "torch.sqrt(x)", "1 / (x + 1e-9)", "torch.linalg.cholesky(x[:, :64].abs() + 99 * torch.eye(64))"):
            loaded = load(source_of(forward, "torch.rand(64, 128) * 0.9 + 0.05"))
            loaded.strict.use_weights("a")
            several = [loaded.strict.made(trial, "a") for trial in range(DRAWS)]
            self.assertTrue(all(bool(one.expected[0].reference.isfinite().all()) for one in several if one.form != "specials"), forward)
            self.assertGreater(sum(one.form != "plain" for one in several), 5, forward)
            again = [loaded.strict.made(trial, "a") for trial in range(DRAWS)]
            for one, other in zip(several, again):
                self.assertTrue(torch.equal(one.inputs[0].nan_to_num(7), other.inputs[0].nan_to_num(7)) and one.form == other.form, (forward, one.form))

    def test_a_turn_has_all_kinds(self):
        loaded = load(source_of("torch.relu(x)", SHAPES[0]))
        loaded.strict.use_weights("a")
        self.assertEqual(sorted(loaded.strict.made(trial, "a").form for trial in range(DRAWS)), sorted(draws.FORMS))


if __name__ == "__main__":
    unittest.main()
