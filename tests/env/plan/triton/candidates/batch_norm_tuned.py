# expected: plan
# task: gpu_batch_norm
# steps: choose
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((256, 2), (1024, 4), (4096, 8))],
                 key=["area", "count"])
@triton.jit
def batch_norm_kernel(x, m, v, w, b, y, c, area, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    channel = at // area % c
    mean, variance = tl.load(m + channel, mask=inside), tl.load(v + channel, mask=inside, other=1.0)
    values = (tl.load(x + at, mask=inside) - mean) * tl.rsqrt(variance + 1e-5)
    tl.store(y + at, values * tl.load(w + channel, mask=inside) + tl.load(b + channel, mask=inside), mask=inside)


def launch(x, m, v, w, b, p, c, h, q):
    y = torch.empty_like(x)
    count = x.numel()
    batch_norm_kernel[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](x, m, v, w, b, y, c, h * q, count)
    return y
