"""Draws of other sizes: dimensions that may change together are found by trial, and what is expected there is what the reference gives."""
import unittest

import sources  # noqa: F401
import torch

import judged
import room
import sizes

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
# (made, forward, names, inputs, places that may be cut: sets of (input, axis))
CASES = [("self.layer = nn.Linear(24, 10)", "self.layer(x)", "x", "torch.rand(16, 24)", [{(0, 0)}]),
         ("pass", "x @ y", "x, y", "torch.rand(16, 24), torch.rand(24, 20)", [{(0, 0)}, {(0, 1), (1, 0)}, {(1, 1)}]),
         ("self.layer = nn.Linear(24, 10)", "F.mse_loss(self.layer(x), y)", "x, y", "torch.rand(16, 24), torch.rand(16, 10)", [{(0, 0), (1, 0)}]),
         ("self.layer = nn.MultiheadAttention(24, 4, batch_first=True)", "self.layer(x, x, x)[0]", "x", "torch.rand(6, 17, 24)",
          [{(0, 0)}, {(0, 1)}]),
         ("self.layer = nn.Conv2d(3, 8, 3)", "self.layer(x).flatten(1)", "x", "torch.rand(5, 3, 20, 22)", [{(0, 0)}, {(0, 2)}, {(0, 3)}]),
         ("self.layer = nn.Linear(24, 10)", "self.layer(x.view(16, 24))", "x", "torch.rand(16, 24)", []),
         ("pass", "torch.softmax(x, -1) + y", "x, y", "torch.rand(8, 30), 3", [{(0, 0)}, {(0, 1)}]),
         ("pass", "torch.log(x)", "x", "torch.softmax(torch.randn(8, 30), -1)", [{(0, 0)}])]


def load(made, forward, names, inputs):
    source = HEAD + (f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {made}\n"
                     f"    def forward(self, {names}):\n        return {forward}\n"
                     f"def get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return []\n")
    loaded = judged.Loaded({"source": source, "precision": "fp32", "tolerance": 1e-4, "trials": 1}, "cpu", room.Room("cpu"))
    loaded.reply()
    loaded.strict.use_weights("key")
    return loaded


class Sizes(unittest.TestCase):
    def test_what_may_be_cut(self):
        for *problem, wanted in CASES:
            loaded = load(*problem)
            loaded.strict.smaller(0, "key")
            self.assertEqual([set(places) for _, places in loaded.strict.free], wanted, problem)

    def test_draws_of_other_sizes(self):
        for *problem, wanted in CASES:
            loaded, found = load(*problem), set()
            own = [one.shape for one in loaded.strict.made(0, "key", always_plain=True).inputs if isinstance(one, torch.Tensor)]
            for trial in range(12):
                drawn = loaded.strict.smaller(trial, "key")
                self.assertEqual(drawn is None, not wanted, problem)
                if drawn is None:
                    continue
                given = [one for one in drawn.inputs if isinstance(one, torch.Tensor)]
                self.assertTrue(all(one.is_contiguous() and all(a <= b for a, b in zip(one.shape, shape)) for one, shape in zip(given, own)))
                answer = loaded.strict.run(loaded.strict.model, drawn.inputs)
                self.assertEqual([one["sizes"] for one in drawn.specs["outputs"]], [list(one.shape) for one in answer])
                self.assertEqual([one["sizes"] for one in drawn.specs["inputs"] if "sizes" in one], [list(one.shape) for one in given])
                self.assertTrue(drawn.compare([one.contiguous() for one in answer], 1e-4).right)
                self.assertFalse(drawn.compare([one.contiguous() + 1 for one in answer], 1e-4).right)
                found.add(tuple(tuple(one.shape) for one in given))
            self.assertTrue(not wanted or len(found) > 1, problem)

    def test_sizes_are_one_one_less_or_odd(self):
        for size in (16, 17):
            found = {sizes.chosen([(size, ((0, 0),))], seed)[0][1] for seed in range(200)}
            self.assertTrue({1, size - 1} <= found and all(one == size - 1 or one % 2 for one in found) and max(found) <= size)


if __name__ == "__main__":
    unittest.main()
