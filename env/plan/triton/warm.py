"""What a child would otherwise import, read or set up by itself: done once, in the parent, by planning a small candidate."""
import gc

import triton.compiler.compiler

from planning import plan_candidate
from child import scratch_folder

SOURCE = '''
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32}, num_stages=2)], key=["n"])
@triton.jit
def product(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = (at[:, None] < n) & (at[None, :] < n)
    tile = tl.load(x + at[:, None] * n + at[None, :], mask=inside, other=0.0).to(tl.bfloat16)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for _ in range(0, n, BLOCK):
        total = tl.dot(tile, tile, total)
    tl.store(y + at[:, None] * n + at[None, :], tl.exp(total - tl.max(total, axis=1)[:, None]), mask=inside)


@triton.jit
def through_descriptors(source, target):
    target.store([0, 0], source.load([0, 0]) + 1.0)


def launch(x, n):
    y, z, one = torch.empty_like(x), torch.zeros_like(x), torch.full((4,), 1.0, device=x.device)
    product[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    through_descriptors[(1,)](TensorDescriptor.from_tensor(y, [16, 16]), TensorDescriptor.from_tensor(z, [16, 16]))
    z.view(-1)[:4].copy_(one)
    return z.reshape(-1).view(n, n).clone()
'''
TARGET = {"name": "", "architecture": 90, "multiprocessors": 1, "max_shared_bytes": 232448, "l2_bytes": 1, "memory_bytes": 1, "clock_khz": 1,
          "memory_clock_khz": 1, "bus_bits": 1}
SHAPES = [{"inputs": [{"name": "x", "type": "f32", "sizes": [n, n]}], "outputs": [{"name": "y", "type": "f32", "sizes": [n, n]}],
           "dims": [{"name": "n", "value": n}]} for n in (16, 20)]


def warm_up():
    """Errors: RuntimeError with what Triton cannot do here."""
    with scratch_folder() as folder:
        reply, _ = plan_candidate({"source": SOURCE, "entry": "launch", "target": TARGET, "shapes": SHAPES}, folder)
    if reply["status"] != "ok":
        raise RuntimeError(f"{reply['message']} {reply['details']}")
    triton.compiler.compiler.max_shared_mem.cache_clear()
    gc.collect()
    gc.freeze()  # so that a child's collector does not write to every page it shares with us
