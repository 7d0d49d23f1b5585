# expected: plan
# task: gpu_swiglu_bf16
# steps: choose choose
import torch
import triton
import triton.language as tl


SIZES = [triton.Config({"BLOCK": block}, num_warps=4) for block in (512, 1024, 2048)]


@triton.autotune(configs=SIZES, key=["count"])
@triton.jit
def gate_kernel(x, t, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < count).to(tl.float32)
    tl.store(t + at, values * tl.sigmoid(values), mask=at < count)


@triton.autotune(configs=SIZES[:2], key=["count"])
@triton.jit
def product_kernel(t, z, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(t + at, mask=at < count) * tl.load(z + at, mask=at < count).to(tl.float32)
    tl.store(y + at, values.to(tl.bfloat16), mask=at < count)


def launch(x, z, n, m):
    count = n * m
    t = torch.empty((n, m), dtype=torch.float32, device=x.device)
    y = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(count, meta["BLOCK"]),)  # noqa: E731
    gate_kernel[grid](x, t, count)
    product_kernel[grid](t, z, y, count)
    return y
