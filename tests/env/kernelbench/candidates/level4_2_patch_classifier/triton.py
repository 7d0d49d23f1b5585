# problem: level4/2_patch_classifier.py
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
def gelu_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476)), mask=at < n)


def gelu(x):
    y = torch.empty_like(x)
    gelu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.out(attention(self.into(layer_norm(x, self.norm1)), self.heads, False))
        return x + self.down(gelu(self.up(layer_norm(x, self.norm2))))


class ModelNew(nn.Module):
    def __init__(self, side, patch, width, heads, layers, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.places = nn.Parameter(torch.randn((side // patch) ** 2, width) * 0.2)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image):
        x = (self.patches(image).flatten(2).transpose(1, 2) + self.places).contiguous()
        for block in self.blocks:
            x = block(x)
        return self.head(layer_norm(x.mean(dim=1), self.norm))
