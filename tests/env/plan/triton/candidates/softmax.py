# expected: plan
# task: gpu_softmax
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * m
    columns = tl.arange(0, BLOCK)
    inside = columns < m
    values = tl.load(x + row + columns, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row + columns, powers / tl.sum(powers, axis=0), mask=inside)


def launch(x, n, m):
    y = torch.empty_like(x)
    block = triton.next_power_of_2(m)
    softmax_kernel[(n,)](x, y, m, BLOCK=block, num_warps=min(16, max(1, block // 256)))
    return y
