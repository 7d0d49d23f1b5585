# expected: FAIL_PLAN writes_input
# says: its input x
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return x.zero_()
