# expected: FAIL_PLAN two_runs
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


calls = []


def launch(x, n):
    calls.append(1)
    return torch.full_like(x, len(calls))
