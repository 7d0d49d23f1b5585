# expected: plan
# task: gpu_adam
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def adam_kernel(p, g, m, v, q, h, w, n, rate, beta, second, keep, keep_square, correction, root, EPSILON: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    gradient = tl.load(g + at, mask=inside)
    first = tl.load(m + at, mask=inside) * beta + gradient * keep
    squares = tl.load(v + at, mask=inside) * second + gradient * gradient * keep_square
    step = first / correction / (tl.sqrt(squares / root) + EPSILON) * rate
    tl.store(q + at, tl.load(p + at, mask=inside) - step, mask=inside)
    tl.store(h + at, first, mask=inside)
    tl.store(w + at, squares, mask=inside)


def launch(p, g, m, v, n):
    q, h, w = torch.empty_like(p), torch.empty_like(p), torch.empty_like(p)
    adam_kernel[(triton.cdiv(n, 1024),)](p, g, m, v, q, h, w, n, 0.01, 0.9, 0.999, 0.1, 0.001, 0.6513215599, 0.0099551198, EPSILON=1e-8, BLOCK=1024)
    return q, h, w
