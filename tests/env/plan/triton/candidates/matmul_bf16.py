# task: gpu_matmul_bf16
# plans: grouped order of the blocks, autotuned
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BM": 128, "BN": 128, "BK": 64, "GROUP": 8}, num_warps=8, num_stages=3),
                          triton.Config({"BM": 128, "BN": 256, "BK": 64, "GROUP": 8}, num_warps=8, num_stages=3),
                          triton.Config({"BM": 64, "BN": 64, "BK": 32, "GROUP": 4}, num_warps=4, num_stages=4)], key=["n", "m", "k"])
@triton.jit
def matmul_kernel(x, w, y, n, m, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    program = tl.program_id(0)
    down, across = tl.cdiv(n, BM), tl.cdiv(m, BN)
    group = program // (GROUP * across)
    first = group * GROUP
    rows_here = min(down - first, GROUP)
    at_m = first + (program % (GROUP * across)) % rows_here
    at_n = (program % (GROUP * across)) // rows_here
    rows = at_m * BM + tl.arange(0, BM)
    columns = at_n * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for at in range(0, k, BK):
        left = tl.load(x + rows[:, None] * k + (at + inner)[None, :], mask=(rows[:, None] < n) & ((at + inner)[None, :] < k), other=0.0)
        right = tl.load(w + (at + inner)[:, None] * m + columns[None, :], mask=((at + inner)[:, None] < k) & (columns[None, :] < m), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(y + rows[:, None] * m + columns[None, :], total.to(tl.bfloat16), mask=(rows[:, None] < n) & (columns[None, :] < m))


def launch(x, w, n, m, k):
    y = torch.empty((n, m), dtype=torch.bfloat16, device=x.device)
    matmul_kernel[lambda meta: (triton.cdiv(n, meta["BM"]) * triton.cdiv(m, meta["BN"]),)](x, w, y, n, m, k)
    return y
