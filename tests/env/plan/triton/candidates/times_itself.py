# expected: FAIL_PLAN times_itself
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return torch.full_like(x, triton.testing.do_bench(lambda: None))
