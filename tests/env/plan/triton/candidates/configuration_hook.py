# expected: plan
# shapes: [({"x": "f32 1000"}, {"y": "f32 1"}, {"n": 1000}), ({"x": "f32 4096"}, {"y": "f32 1"}, {"n": 4096})]
# steps: choose
import torch
import triton
import triton.language as tl


def zero(arguments):
    arguments["y"].zero_()


@triton.autotune(configs=[triton.Config({"BLOCK": 256}, pre_hook=zero), triton.Config({"BLOCK": 1024}, pre_hook=zero)], key=["n"])
@triton.jit
def sum_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


def launch(x, n):
    y = torch.empty(1, device=x.device)
    sum_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y
