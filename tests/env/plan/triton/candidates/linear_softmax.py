# expected: plan
# task: gpu_linear_softmax
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, w, a, y, n, m, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, k, BK):
        inner = begin + tl.arange(0, BK)
        left = tl.load(x + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < n) & (inner[None, :] < k), other=0.0)
        right = tl.load(w + inner[:, None] * m + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < m), other=0.0)
        total = tl.dot(left, right, total, input_precision="tf32x3")
    scores = total + tl.load(a + columns, mask=columns < m, other=0.0)[None, :]
    scores = tl.where(columns[None, :] < m, scores, -float("inf"))
    powers = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    tl.store(y + rows[:, None] * m + columns[None, :], powers / tl.sum(powers, axis=1)[:, None],
             mask=(rows[:, None] < n) & (columns[None, :] < m))


def launch(x, w, a, n, m, k):
    y = torch.empty((n, m), device=x.device)
    linear_kernel[(triton.cdiv(n, 16),)](x, w, a, y, n, m, k, BM=16, BN=triton.next_power_of_2(max(16, m)), BK=16, num_warps=8, num_stages=1)
    return y
