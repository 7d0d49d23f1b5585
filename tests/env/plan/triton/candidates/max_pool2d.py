# expected: plan
# task: gpu_max_pool2d
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x, y, h, w, q, r, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane, row, column = at // (q * r), at // r % q, at % r
    greatest = tl.full((BLOCK,), -float("inf"), tl.float32)
    for down in tl.static_range(3):
        for across in tl.static_range(3):
            i, j = row * 2 + down - 1, column * 2 + across - 1
            inside = (i >= 0) & (i < h) & (j >= 0) & (j < w) & (at < count)
            greatest = tl.maximum(greatest, tl.load(x + (plane * h + i) * w + j, mask=inside, other=-float("inf")))
    tl.store(y + at, greatest, mask=at < count)


def launch(x, p, c, h, w, q, r):
    y = torch.empty((p, c, q, r), device=x.device)
    pool_kernel[(triton.cdiv(y.numel(), 512),)](x, y, h, w, q, r, y.numel(), BLOCK=512)
    return y
