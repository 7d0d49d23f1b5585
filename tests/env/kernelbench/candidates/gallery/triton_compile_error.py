# problem: level1/3_row_softmax.py
# backend: triton
# strict: FAIL_COMPILE
# comparable: failed
# why: A block that is no power of two.
# runs_on: cuda
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, columns):
    at = tl.arange(0, 300)
    value = tl.load(x + tl.program_id(0) * columns + at, mask=at < columns, other=float("-inf"))
    tl.store(y + tl.program_id(0) * columns + at, tl.softmax(value), mask=at < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1])
        return y
