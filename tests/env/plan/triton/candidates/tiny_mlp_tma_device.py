# expected: plan
# task: gpu_tiny_mlp
# steps: launch
import torch
import triton
import triton.language as tl


def scratch(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


@triton.jit
def mlp_kernel(x, u, a, w, b, y, n, BM: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [n, 64], [64, 1], [BM, 64])
    out = tl.make_tensor_descriptor(y, [n, 64], [64, 1], [BM, 64])
    inner, outer = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    at = tl.program_id(0) * BM
    hidden = tl.dot(rows.load([at, 0]), tl.load(u + inner * 64 + outer), input_precision="tf32x3")
    hidden = tl.maximum(hidden + tl.load(a + tl.arange(0, 64))[None, :], 0.0)
    values = tl.dot(hidden, tl.load(w + inner * 64 + outer), input_precision="tf32x3")
    out.store([at, 0], tl.maximum(values + tl.load(b + tl.arange(0, 64))[None, :], 0.0))


def launch(x, u, a, w, b, n):
    y = torch.empty_like(x)
    triton.set_allocator(scratch)
    mlp_kernel[(triton.cdiv(n, 64),)](x, u, a, w, b, y, n, BM=64)
    return y
