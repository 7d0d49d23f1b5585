# expected: plan
# shapes: [({"x": "f32 1000"}, {"y": "f32 1000"}, {"n": 1000})]
# steps: copy choose
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"], restore_value=["y"])
@triton.jit
def double_kernel(y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(y + at, mask=at < n) * 2.0, mask=at < n)


def launch(x, n):
    y = x.clone()
    double_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](y, n)
    return y
