# expected: plan
# task: gpu_causal_conv1d
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(x, w, b, y, c, l, BLOCK: tl.constexpr):
    channel, steps = tl.program_id(1), tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32) + tl.load(b + channel % c)
    for tap in tl.static_range(4):
        before = steps + tap - 3
        values = tl.load(x + channel * l + before, mask=(before >= 0) & (before < l), other=0.0)
        total += values * tl.load(w + channel % c * 4 + tap)
    tl.store(y + channel * l + steps, total, mask=steps < l)


def launch(x, w, b, p, c, l):
    y = torch.empty_like(x)
    conv_kernel[(triton.cdiv(l, 512), p * c)](x, w, b, y, c, l, BLOCK=512)
    return y
