# expected: plan
# shapes: [({"x": "f32 100"}, {"y": "f32 100"}, {"n": 100})]
# steps: launch
import torch
import triton
import triton.language as tl


@triton.jit
def scalars_kernel(x, y, n, small, long, unsigned, one, nothing, number, flag, half: "fp16", brain: "bf16", double: "fp64",
                   short: "i16", BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n) * number + small + long + one + half + brain + short
    if flag:
        values += double.to(tl.float32) + unsigned.to(tl.float32)
    tl.store(y + at, values, mask=at < n)


def launch(x, n):
    y = torch.empty_like(x)
    scalars_kernel[(1,)](x, y, n, -7, 1 << 40, (1 << 63) + 5, 1, None, 1.5, True, 0.1, 0.1, 1e300, 12, BLOCK=128)
    return y
