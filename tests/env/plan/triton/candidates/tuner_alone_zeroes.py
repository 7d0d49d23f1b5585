# expected: FAIL_PLAN reset_to_zero
# says: torch.zeros
# shapes: [({"x": "f32 1000"}, {"y": "f32 1"}, {"n": 1000})]
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"], reset_to_zero=["y"])
@triton.jit
def sum_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


def launch(x, n):
    y = torch.empty(1, device=x.device)
    sum_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y
