# problem: level2/5_scale_bias_causal_softmax.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_softmax_kernel(scores, bias, y, heads, length, scale, BLOCK: tl.constexpr):
    row, plane = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, BLOCK)
    seen = at <= row
    start = (plane * length + row) * length
    value = tl.load(scores + start + at, mask=seen, other=0.0) * scale
    value += tl.load(bias + plane % heads * length + row - at, mask=seen, other=0.0)
    value = tl.where(seen, value, float("-inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + start + at, weight / tl.sum(weight, axis=0), mask=at < length)


class ModelNew(nn.Module):
    def __init__(self, heads, length, scale):
        super().__init__()
        self.scale = scale
        self.bias = nn.Parameter(torch.randn(heads, length) * 0.5)

    def forward(self, scores):
        batch, heads, length, _ = scores.shape
        y = torch.empty_like(scores)
        causal_softmax_kernel[(length, batch * heads)](scores, self.bias, y, heads, length, self.scale, BLOCK=triton.next_power_of_2(length))
        return y
