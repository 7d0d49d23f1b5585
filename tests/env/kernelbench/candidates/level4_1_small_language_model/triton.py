# problem: level4/1_small_language_model.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm_kernel(x, scale, shift, y, width, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < width
    value = tl.load(x + row * width + at, mask=inside, other=0.0)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / width, 0.0)
    deviation = tl.sqrt(tl.sum(centred * centred, axis=0) / width + epsilon)
    result = centred / deviation * tl.load(scale + at, mask=inside) + tl.load(shift + at, mask=inside)
    tl.store(y + row * width + at, result, mask=inside)


def layer_norm(x, norm):
    y, width = torch.empty_like(x), x.shape[-1]
    layer_norm_kernel[(x.numel() // width,)](x, norm.weight, norm.bias, y, width, norm.eps, BLOCK=triton.next_power_of_2(width), num_warps=8)
    return y


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


@triton.jit
def silu_product_kernel(gate, up, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(gate + at, mask=at < n)
    tl.store(y + at, value * tl.sigmoid(value) * tl.load(up + at, mask=at < n), mask=at < n)


def silu_product(gate, up):
    y = torch.empty_like(gate)
    silu_product_kernel[(triton.cdiv(y.numel(), 1024),)](gate, up, y, y.numel(), BLOCK=1024)
    return y


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.gate = nn.Linear(width, 2 * width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.out(attention(self.into(layer_norm(x, self.norm1)), self.heads, True))
        y = layer_norm(x, self.norm2)
        return x + self.down(silu_product(self.gate(y), self.up(y)))


class ModelNew(nn.Module):
    def __init__(self, width, heads, layers, vocabulary, length):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens.long()) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(layer_norm(x, self.norm))
