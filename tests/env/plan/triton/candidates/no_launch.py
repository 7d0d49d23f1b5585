# expected: FAIL_PARSE no_entry_point
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def lunch(x, n):
    return x
