# expected: FAIL_PLAN too_many_configurations
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 16 << at % 4}, num_warps=1 << at % 5) for at in range(65)], key=["n"])
@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


def launch(x, n):
    y = torch.empty_like(x)
    copy_kernel[(1,)](x, y, n)
    return y
