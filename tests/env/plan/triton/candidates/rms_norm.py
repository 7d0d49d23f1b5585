# expected: plan
# task: gpu_rms_norm
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def mean_square(values, m):
    return tl.sum(values * values, axis=0) / m


@triton.jit
def normed(values, m, EPSILON: tl.constexpr):
    return values * tl.rsqrt(mean_square(values, m) + EPSILON)


@triton.jit
def rms_norm_kernel(x, a, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0) * m
    columns = tl.arange(0, BLOCK)
    values = normed(tl.load(x + row + columns, mask=columns < m, other=0.0), m, 1e-5)
    tl.store(y + row + columns, values * tl.load(a + columns, mask=columns < m, other=0.0), mask=columns < m)


def launch(x, a, n, m):
    y = torch.empty_like(x)
    rms_norm_kernel[(n,)](x, a, y, m, BLOCK=triton.next_power_of_2(m))
    return y
