# expected: plan
# task: gpu_gelu
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    tl.store(y + at, 0.5 * values * (1.0 + tl.erf(values * 0.7071067811865476)), mask=at < n)


def launch(x: torch.Tensor, n: int) -> torch.Tensor:
    assert x.is_cuda and x.is_contiguous() and x.numel() == n
    y = torch.empty_like(x)
    with torch.cuda.device(x.device):
        gelu_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, BLOCK=1024)
    return y
