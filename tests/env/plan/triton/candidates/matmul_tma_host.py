# expected: plan
# task: gpu_matmul_scaled_f16
# steps: launch
# interpreted: no, this takes the way with descriptors only at sizes that the checks do not have
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def with_descriptors(x, w, a, y, n, m, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, k, BK):
        total = tl.dot(x.load([row, begin]), w.load([begin, column]), total)
    columns = column + tl.arange(0, BN)
    scale = tl.load(a + columns, mask=columns < m, other=0.0).to(tl.float32)
    y.store([row, column], (total * scale[None, :]).to(tl.float16))


@triton.jit
def with_pointers(x, w, a, y, n, m, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, k, BK):
        inner = begin + tl.arange(0, BK)
        left = tl.load(x + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < n) & (inner[None, :] < k), other=0.0)
        right = tl.load(w + inner[:, None] * m + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < m), other=0.0)
        total = tl.dot(left, right, total)
    scale = tl.load(a + columns, mask=columns < m, other=0.0).to(tl.float32)
    tl.store(y + rows[:, None] * m + columns[None, :], (total * scale[None, :]).to(tl.float16),
             mask=(rows[:, None] < n) & (columns[None, :] < m))


def launch(x, w, a, n, m, k):
    y = torch.empty((n, m), dtype=torch.float16, device=x.device)
    grid = (triton.cdiv(n, 128), triton.cdiv(m, 128))
    if m % 8 or k % 8:
        with_pointers[grid](x, w, a, y, n, m, k, 128, 128, 32, num_warps=8)
        return y
    blocks = [TensorDescriptor.from_tensor(tensor, block) for tensor, block in ((x, [128, 64]), (w, [64, 128]), (y, [128, 128]))]
    with_descriptors[grid](blocks[0], blocks[1], a, blocks[2], n, m, k, 128, 128, 64, num_warps=8, num_stages=3)
    return y
