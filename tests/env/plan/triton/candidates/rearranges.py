# expected: REJECT_POLICY strided_copy
# says: strides
# shapes: [({"x": "f32 4 8"}, {"y": "f32 8 4"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return x.t().contiguous()
