# expected: plan
# task: gpu_dequantise_nibbles
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def dequantise_kernel(q, b, y, n, m, WORDS: tl.constexpr):
    words = tl.program_id(0) * WORDS + tl.arange(0, WORDS)
    place = tl.arange(0, 8)
    inside = (words[:, None] < n * m) & (place[None, :] < 7)
    packed = tl.load(q + words, mask=words < n * m, other=0)
    numbers = ((packed[:, None] >> (place[None, :] * 4)) & 15) - 8
    scale = tl.load(b + words // m, mask=words < n * m, other=0.0)
    tl.store(y + words[:, None] * 7 + place[None, :], numbers.to(tl.float32) * scale[:, None], mask=inside)


def launch(q, b, n, m):
    y = torch.empty((n, m, 7), dtype=torch.float32, device=q.device)
    dequantise_kernel[(triton.cdiv(n * m, 256),)](q, b, y, n, m, WORDS=256)
    return y
