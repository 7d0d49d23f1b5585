# expected: plan
# task: gpu_histogram
# steps: memset launch
import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(r, y, k, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(r + at, mask=at < k, other=0), BINS)
    if (tl.program_id(0) + 1) * BLOCK > k:
        beyond = (tl.program_id(0) + 1) * BLOCK - k
        counts -= tl.where(tl.arange(0, BINS) == 0, beyond, 0)
    tl.atomic_add(y + tl.arange(0, BINS), counts)


def launch(r, k):
    y = torch.empty(256, dtype=torch.int32, device=r.device)
    y.zero_()
    histogram_kernel[(triton.cdiv(k, 4096),)](r, y, k, BLOCK=4096, BINS=256)
    return y
