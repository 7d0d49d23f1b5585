# expected: plan
# task: gpu_decode_attention_f16
# steps: launch launch
import torch
import triton
import triton.language as tl


@triton.jit
def part_kernel(q, k, v, out, greatest, total, g, n, SPLITS: tl.constexpr, BG: tl.constexpr, BN: tl.constexpr):
    head, split = tl.program_id(0), tl.program_id(1)
    group, lanes = tl.arange(0, BG), tl.arange(0, 64)
    query = tl.load(q + (head * g + group[:, None]) * 64 + lanes[None, :], mask=group[:, None] < g, other=0.0)
    most = tl.full((BG,), -1e30, tl.float32)
    sums = tl.zeros((BG,), tl.float32)
    values = tl.zeros((BG, 64), tl.float32)
    part = tl.cdiv(n, SPLITS)
    for begin in range(split * part, min(split * part + part, n), BN):
        columns = begin + tl.arange(0, BN)
        inside = columns < min(split * part + part, n)
        at = (head.to(tl.int64) * n + columns[:, None]) * 64 + lanes[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + at, mask=inside[:, None], other=0.0))) * 0.125
        scores = tl.where(inside[None, :], scores, -1e30)
        now = tl.maximum(most, tl.max(scores, axis=1))
        powers = tl.where(inside[None, :], tl.exp(scores - now[:, None]), 0.0)
        shrink = tl.exp(most - now)
        sums = sums * shrink + tl.sum(powers, axis=1)
        values = tl.dot(powers.to(tl.float16), tl.load(v + at, mask=inside[:, None], other=0.0), values * shrink[:, None])
        most = now
    place = (head * SPLITS + split) * BG + group
    tl.store(greatest + place, most)
    tl.store(total + place, sums)
    tl.store(out + place[:, None] * 64 + lanes[None, :], values)


@triton.jit
def merge_kernel(out, greatest, total, y, g, SPLITS: tl.constexpr, BG: tl.constexpr):
    head, one = tl.program_id(0), tl.program_id(1)
    splits, lanes = tl.arange(0, SPLITS), tl.arange(0, 64)
    place = (head * SPLITS + splits) * BG + one
    most = tl.load(greatest + place)
    weight = tl.exp(most - tl.max(most, axis=0))
    sums = tl.sum(weight * tl.load(total + place), axis=0)
    values = tl.sum(weight[:, None] * tl.load(out + place[:, None] * 64 + lanes[None, :]), axis=0)
    tl.store(y + (head * g + one) * 64 + lanes, (values / sums).to(tl.float16))


def launch(q, k, v, p, h, g, n):
    splits, group = 4, 16
    y = torch.empty_like(q)
    out = torch.empty((p * h, splits, group, 64), dtype=torch.float32, device=q.device)
    greatest, total = (torch.empty((p * h, splits, group), dtype=torch.float32, device=q.device) for _ in range(2))
    part_kernel[(p * h, splits)](q, k, v, out, greatest, total, g, n, SPLITS=splits, BG=group, BN=64)
    merge_kernel[(p * h, g)](out, greatest, total, y, g, SPLITS=splits, BG=group, num_warps=1)
    return y
