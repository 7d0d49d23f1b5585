# problem: level3/2_causal_attention.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attention_kernel(parts, y, heads, length, scale, CAUSAL: tl.constexpr, SIZE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """parts [batch, length, 3, heads, SIZE] holds queries, keys and values; y is [batch, length, heads, SIZE]."""
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    row, channel = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, SIZE)
    step = 3 * heads * SIZE
    first = parts + batch * length * step + head * SIZE
    query = tl.load(first + row[:, None] * step + channel[None, :], mask=row[:, None] < length, other=0.0)
    top, weights, mixed = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32), tl.zeros((M, SIZE), tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * M, length) if CAUSAL else length
    for start in range(0, end, N):
        place = start + tl.arange(0, N)
        at = first + place[:, None] * step + channel[None, :]
        key = tl.load(at + heads * SIZE, mask=place[:, None] < length, other=0.0)
        value = tl.load(at + 2 * heads * SIZE, mask=place[:, None] < length, other=0.0)
        score = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        seen = place[None, :] < length
        if CAUSAL:
            seen = seen & (place[None, :] <= row[:, None])
        score = tl.where(seen, score, float("-inf"))
        now = tl.maximum(top, tl.max(score, axis=1))
        weight, shrink = tl.exp(score - now[:, None]), tl.exp(top - now)
        weights = weights * shrink + tl.sum(weight, axis=1)
        mixed = tl.dot(weight, value, mixed * shrink[:, None], input_precision="ieee")
        top = now
    at = y + ((batch * length + row[:, None]) * heads + head) * SIZE + channel[None, :]
    tl.store(at, mixed / weights[:, None], mask=row[:, None] < length)


def attention(parts, heads, causal):
    batch, length, width = parts.shape
    width //= 3
    y = torch.empty(batch, length, width, dtype=parts.dtype, device=parts.device)
    size = width // heads
    attention_kernel[(triton.cdiv(length, 64), batch * heads)](parts, y, heads, length, size ** -0.5, CAUSAL=causal, SIZE=size, M=64, N=32)
    return y


class ModelNew(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        return self.out(attention(self.into(x), self.heads, True))
