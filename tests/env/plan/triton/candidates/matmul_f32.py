# expected: plan
# task: gpu_matmul_f32
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(x, w, y, n, m, k, sx, sw, sy, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, k, BK):
        inner = begin + tl.arange(0, BK)
        left = tl.load(x + rows[:, None] * sx + inner[None, :], mask=(rows[:, None] < n) & (inner[None, :] < k), other=0.0)
        right = tl.load(w + inner[:, None] * sw + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < m), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(y + rows[:, None] * sy + columns[None, :], total, mask=(rows[:, None] < n) & (columns[None, :] < m))


def launch(x, w, n, m, k):
    y = torch.empty((n, m), device=x.device)
    matmul_kernel[(triton.cdiv(n, 64), triton.cdiv(m, 64))](x, w, y, n, m, k, x.stride(0), w.stride(0), y.stride(0), 64, 64, 32)
    return y
