# expected: plan
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
# steps: launch
# gate: device_assert
import torch
import triton
import triton.language as tl


@triton.jit
def assert_kernel(x, y):
    at = tl.arange(0, 16)
    values = tl.load(x + at)
    tl.device_assert(values < 1e9)
    tl.store(y + at, values)


def launch(x, n):
    y = torch.empty_like(x)
    assert_kernel[(1,)](x, y, debug=True)
    return y
