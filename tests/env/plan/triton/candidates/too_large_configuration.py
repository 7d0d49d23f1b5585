# expected: plan
# shapes: [({"x": "f32 256 256", "w": "f32 256 256"}, {"y": "f32 256 256"}, {"n": 256})]
# steps: choose
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_stages=6), triton.Config({"BLOCK": 64}, num_stages=2)], key=["n"])
@triton.jit
def product_kernel(x, w, y, n, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for begin in range(0, n, BLOCK):
        inner = begin + tl.arange(0, BLOCK)
        total = tl.dot(tl.load(x + rows[:, None] * n + inner[None, :]), tl.load(w + inner[:, None] * n + columns[None, :]), total)
    tl.store(y + rows[:, None] * n + columns[None, :], total)


def launch(x, w, n):
    y = torch.empty((n, n), device=x.device)
    product_kernel[lambda meta: (n // meta["BLOCK"], n // meta["BLOCK"])](x, w, y, n)
    return y
