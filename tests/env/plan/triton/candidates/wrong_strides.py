# expected: FAIL_PLAN output_strides
# shapes: [({"x": "f32 16"}, {"y": "f32 4 4"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return torch.zeros((4, 4), device=x.device).t()
