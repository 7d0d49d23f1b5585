# expected: plan
# task: gpu_causal_softmax
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, n, BLOCK: tl.constexpr):
    row, matrix = tl.program_id(0), tl.program_id(1)
    columns = tl.arange(0, BLOCK)
    at = (matrix.to(tl.int64) * n + row) * n + columns
    values = tl.load(x + at, mask=columns <= row, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + at, powers / tl.sum(powers, axis=0), mask=columns < n)


def launch(x, p, n):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    softmax_kernel[n, p](x, y, n, BLOCK=triton.next_power_of_2(n))
    return y
