# expected: FAIL_PLAN torch_compile
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@torch.compile
def add(x):
    return x + 1


def launch(x, n):
    return add(x)
