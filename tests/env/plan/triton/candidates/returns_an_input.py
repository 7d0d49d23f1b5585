# expected: plan
# shapes: [({"x": "f32 4 8"}, {"y": "f32 8 4", "z": "f32 32"}, {"n": 4})]
# steps: copy copy
import torch
import triton
import triton.language as tl


def launch(x, n):
    return x.view(8, 4), x.reshape(-1)
