# expected: plan
# task: gpu_log_sum_exp
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    greatest = -float("inf")
    total = 0.0
    for begin in range(0, m, BLOCK):
        columns = begin + tl.arange(0, BLOCK)
        values = tl.load(x + row * m + columns, mask=columns < m, other=-float("inf"))
        now = tl.maximum(greatest, tl.max(values, axis=0))
        total = total * tl.exp(greatest - now) + tl.sum(tl.exp(values - now), axis=0)
        greatest = now
    tl.store(y + row, greatest + tl.log(total))


def launch(x, n, m):
    y = torch.empty((n,), dtype=torch.float32, device=x.device)
    log_sum_exp_kernel[(n,)](x, y, m, 1024)
    return y
