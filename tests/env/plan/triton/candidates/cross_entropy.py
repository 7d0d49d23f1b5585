# expected: plan
# task: gpu_cross_entropy
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(x, t, y, m, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + columns, mask=columns < m, other=-float("inf"))
    greatest = tl.max(values, axis=0)
    right = tl.load(x + row * stride + tl.load(t + row))
    tl.store(y + row, greatest + tl.log(tl.sum(tl.exp(values - greatest), axis=0)) - right)


def launch(x, t, n, m):
    y = torch.empty(n, device=x.device)
    cross_entropy_kernel[(n,)](x, t, y, m, x.stride(0), BLOCK=triton.next_power_of_2(m), num_warps=8)
    return y
