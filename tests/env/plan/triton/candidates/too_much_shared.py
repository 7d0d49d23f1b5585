# expected: FAIL_COMPILE resources
# says: out of resource: shared memory
# shapes: [({"x": "f16 256 256", "w": "f16 256 256"}, {"y": "f32 256 256"}, {"n": 256})]
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(x, w, y, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for begin in range(0, n, BLOCK):
        inner = begin + tl.arange(0, BLOCK)
        total = tl.dot(tl.load(x + rows[:, None] * n + inner[None, :]), tl.load(w + inner[:, None] * n + columns[None, :]), total)
    tl.store(y + rows[:, None] * n + columns[None, :], total)


def launch(x, w, n):
    y = torch.empty((n, n), device=x.device)
    product_kernel[(1,)](x, w, y, n, BLOCK=128, num_stages=8, num_warps=8)
    return y
