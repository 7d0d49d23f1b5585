# expected: FAIL_PLAN too_many_workspaces
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return [torch.zeros_like(x) for _ in range(500)][-1]
