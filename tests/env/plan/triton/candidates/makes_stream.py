# expected: FAIL_PLAN streams
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    with torch.cuda.stream(torch.cuda.Stream()):
        return torch.zeros_like(x)
