"""Convolutions by Winograd's algorithm: the same function, f32 that loses some bits but ten times fewer than TF32; such answers are right."""
import unittest
import unittest.mock

import sources  # noqa: F401
import torch

import judged
import room
import winograd

SOURCE = """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(32, 48, 3, padding=1)
    def forward(self, x):
        return torch.relu(self.conv(x))
def get_inputs():
    return [torch.rand(2, 32, 33, 40)]
def get_init_inputs():
    return []
"""
# (dimensions, channels in and out, kernel, padding, groups)
SHAPES = [(2, 8, 12, (3, 3), (1, 1), 1), (2, 8, 12, (3, 3), (0, 0), 2), (2, 6, 6, (3, 1), (1, 0), 6), (2, 5, 4, (1, 3), (0, 2), 1),
          (1, 7, 9, (3,), (1,), 1), (3, 4, 6, (3, 3, 3), (1, 0, 1), 1), (3, 4, 6, (1, 3, 3), (0, 1, 1), 2)]


def rounded(x):
    return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


class Winograd(unittest.TestCase):
    def test_it_is_the_convolution(self):
        for dims, channels, outs, kernel, padding, groups in SHAPES:
            x = torch.randn(3, channels, *(11, 14, 7)[:dims], dtype=torch.float64)
            weight, bias = torch.randn(outs, channels // groups, *kernel, dtype=torch.float64), torch.randn(outs, dtype=torch.float64)
            wanted = torch.ops.aten.convolution(x, weight, bias, [1] * dims, padding, [1] * dims, False, [0] * dims, groups)
            got = winograd.convolution(x, weight, bias, padding, groups)
            self.assertEqual(got.shape, wanted.shape)
            self.assertLess((got - wanted).abs().max(), 1e-10)
            wanted = torch.ops.aten.convolution(x, weight, bias, [1] * dims, padding, [2] * dims, False, [0] * dims, groups)
            got = winograd.by_fourier(x, weight, bias, padding, [2] * dims, groups)
            self.assertEqual(got.shape, wanted.shape)
            self.assertLess((got - wanted).abs().max(), 1e-10)

    def test_only_what_can_be_computed_so(self):
        with torch.no_grad():
            x = torch.randn(2, 8, 20, 20)
            for layer, is_one in ((torch.nn.Conv2d(8, 8, 3), True), (torch.nn.Conv2d(8, 8, 3, stride=2), False), (torch.nn.Conv2d(8, 8, 1), True),
                                  (torch.nn.Conv2d(8, 8, 5), True), (torch.nn.Conv2d(8, 8, 3, padding="same"), True),
                                  (torch.nn.Conv2d(8, 8, 3, dilation=2), True), (torch.nn.ConvTranspose2d(8, 8, 3), False), (torch.nn.Linear(20, 9), False)):
                got = winograd.outputs_by(lambda layer=layer: [layer(x)])
                self.assertEqual(got is not None, is_one, layer)
                if is_one:
                    self.assertLess((got[0] - layer(x)).abs().max(), 1e-3)

    def test_answers_by_it_are_right_and_those_by_tf32_wrong(self):
        loaded = judged.Loaded({"source": SOURCE, "precision": "fp32", "tolerance": 1e-4, "trials": 1}, "cpu", room.Room("cpu"))
        loaded.reply()
        for key in ("a", "b"):
            loaded.strict.use_weights(key)
            conv = loaded.strict.model.conv
            wrong = 0
            for trial in range(10):
                drawn = loaded.strict.made(trial, key)
                x = drawn.inputs[0]
                for out in (2, 4, 6):
                    with unittest.mock.patch.multiple(winograd, OUT=out, SIZE=out + 2, POINTS=winograd.POINTS[:out + 1]):
                        got = torch.relu(winograd.convolution(x, conv.weight.detach(), conv.bias.detach(), (1, 1), 1))
                    result = drawn.compare([got.contiguous()], 1e-4)
                    self.assertTrue(result.right, (key, trial, out, drawn.form, result.message))
                got = torch.relu(torch.nn.functional.conv2d(rounded(x), rounded(conv.weight.detach()), conv.bias.detach(), padding=1))
                wrong += not drawn.compare([got], 1e-4).right
            self.assertGreater(wrong, 5)


if __name__ == "__main__":
    unittest.main()
