# expected: plan
# task: gpu_causal_attention_f16
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q, k, v, y, n, BM: tl.constexpr, BN: tl.constexpr):
    head, first = tl.program_id(1).to(tl.int64) * n * 64, tl.program_id(0) * BM
    rows, lanes = first + tl.arange(0, BM), tl.arange(0, 64)
    query = tl.load(q + head + rows[:, None] * 64 + lanes[None, :], mask=rows[:, None] < n, other=0.0)
    greatest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, 64), tl.float32)
    for begin in range(0, tl.minimum(first + BM, n), BN):
        columns = begin + tl.arange(0, BN)
        at = head + columns[:, None] * 64 + lanes[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + at, mask=columns[:, None] < n, other=0.0))) * 0.125
        scores = tl.where((rows[:, None] >= columns[None, :]) & (columns[None, :] < n), scores, -float("inf"))
        now = tl.maximum(greatest, tl.max(scores, axis=1))
        powers = tl.exp(scores - now[:, None])
        shrink = tl.exp(greatest - now)
        total = total * shrink + tl.sum(powers, axis=1)
        out = tl.dot(powers.to(tl.float16), tl.load(v + at, mask=columns[:, None] < n, other=0.0), out * shrink[:, None])
        greatest = now
    tl.store(y + head + rows[:, None] * 64 + lanes[None, :], (out / total[:, None]).to(tl.float16), mask=rows[:, None] < n)


def launch(q, k, v, p, h, n):
    y = torch.empty_like(q)
    attention_kernel[(triton.cdiv(n, 64), p * h)](q, k, v, y, n, BM=64, BN=32, num_warps=4)
    return y
