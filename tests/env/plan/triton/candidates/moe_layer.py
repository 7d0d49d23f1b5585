# expected: plan
# task: gpu_moe_layer
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def moe_kernel(x, r, u, w, y, m, f, BM: tl.constexpr, BF: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.load(r + token)
    ms, fs = tl.arange(0, BM), tl.arange(0, BF)
    values = tl.load(x + token * m + ms, mask=ms < m, other=0.0)
    inside = (ms[:, None] < m) & (fs[None, :] < f)
    hidden = tl.sum(values[:, None] * tl.load(u + (expert * m + ms[:, None]) * f + fs[None, :], mask=inside, other=0.0), axis=0)
    hidden = tl.maximum(hidden, 0.0)
    out = tl.sum(hidden[None, :] * tl.load(w + (expert * f + fs[None, :]) * m + ms[:, None], mask=inside, other=0.0), axis=1)
    tl.store(y + token * m + ms, out, mask=ms < m)


def launch(x, r, u, w, n, m, f, e):
    y = torch.empty_like(x)
    moe_kernel[(n,)](x, r, u, w, y, m, f, BM=triton.next_power_of_2(m), BF=triton.next_power_of_2(f), num_warps=8)
    return y
