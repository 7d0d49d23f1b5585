# expected: plan
# task: gpu_residual_layer_norm_bf16
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x, z, w, b, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0) * m
    columns = tl.arange(0, BLOCK)
    inside = columns < m
    sums = tl.load(x + row + columns, mask=inside, other=0.0).to(tl.float32)
    sums += tl.load(z + row + columns, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / m
    off = tl.where(inside, sums - mean, 0.0)
    values = off * tl.rsqrt(tl.sum(off * off, axis=0) / m + 1e-5)
    values = values * tl.load(w + columns, mask=inside).to(tl.float32) + tl.load(b + columns, mask=inside).to(tl.float32)
    tl.store(y + row + columns, values.to(y.dtype.element_ty), mask=inside)


def launch(x, z, w, b, n, m):
    y = torch.empty_like(x)
    layer_norm_kernel[(n,)](x, z, w, b, y, m, BLOCK=triton.next_power_of_2(m), num_warps=8)
    return y
