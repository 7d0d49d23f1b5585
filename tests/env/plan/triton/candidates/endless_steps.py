# expected: FAIL_PLAN too_many_steps
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    y = torch.empty_like(x)
    while True:
        y.zero_()
