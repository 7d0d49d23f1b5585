# expected: plan
# shapes: [({"x": "f16 64 64", "w": "f16 64 64"}, {"y": "f32 64 64"}, {"n": 64}), ({"x": "f16 128 128", "w": "f16 128 128"}, {"y": "f32 128 128"}, {"n": 128})]
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(x, w, y, n, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * 64 + tl.arange(0, 64), tl.program_id(1) * 64 + tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for begin in range(0, n, BLOCK):
        inner = begin + tl.arange(0, BLOCK)
        left = tl.load(x + rows[:, None] * n + inner[None, :]).to(tl.float8e4nv)
        right = tl.load(w + inner[:, None] * n + columns[None, :]).to(tl.float8e4nv)
        total = tl.dot(left, right, total)
    tl.store(y + rows[:, None] * n + columns[None, :], total)


def launch(x, w, n):
    y = torch.empty((n, n), device=x.device)
    product_kernel[(n // 64, n // 64)](x, w, y, n, BLOCK=64)
    return y
