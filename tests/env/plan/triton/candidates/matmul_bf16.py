# expected: plan
# task: gpu_matmul_bf16
# steps: choose
# interpreted: no, the interpreter takes bf16 in a dot for integers
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BM": 128, "BN": 128, "BK": 64, "GROUP": 8}, num_warps=8, num_stages=3),
                          triton.Config({"BM": 64, "BN": 64, "BK": 32, "GROUP": 4}, num_warps=4, num_stages=4)], key=["n", "m", "k"])
@triton.jit
def matmul_kernel(x, w, y, n, m, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    program = tl.program_id(0)
    down, across = tl.cdiv(n, BM), tl.cdiv(m, BN)
    first = program // (GROUP * across) * GROUP
    here = min(down - first, GROUP)
    rows = (first + program % (GROUP * across) % here) * BM + tl.arange(0, BM)
    columns = program % (GROUP * across) // here * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for begin in range(0, k, BK):
        inner = begin + tl.arange(0, BK)
        left = tl.load(x + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < n) & (inner[None, :] < k), other=0.0)
        right = tl.load(w + inner[:, None] * m + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < m), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(y + rows[:, None] * m + columns[None, :], total.to(tl.bfloat16), mask=(rows[:, None] < n) & (columns[None, :] < m))


def launch(x, w, n, m, k):
    y = torch.empty((n, m), dtype=torch.bfloat16, device=x.device)
    matmul_kernel[lambda meta: (triton.cdiv(n, meta["BM"]) * triton.cdiv(m, meta["BN"]),)](x, w, y, n, m, k)
    return y
