# expected: plan
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
# steps: launch
# gate: device_printf
import torch
import triton
import triton.language as tl


@triton.jit
def print_kernel(x, y):
    at = tl.arange(0, 16)
    values = tl.load(x + at)
    tl.device_print("values", values)
    tl.store(y + at, values)


def launch(x, n):
    y = torch.empty_like(x)
    print_kernel[(1,)](x, y)
    return y
