# expected: REJECT_POLICY strided_fill
# shapes: [({"x": "f32 4 8"}, {"y": "f32 4 8"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    y = torch.zeros_like(x)
    y[:, 2:4].fill_(1.0)
    return y
