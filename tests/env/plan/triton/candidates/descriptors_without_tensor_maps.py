# expected: plan
# shapes: [({"x": "f32 64 64"}, {"y": "f32 64 64"}, {"n": 64})]
# steps: launch
# architecture: 80
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add_kernel(source, target, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    target.store([at, 0], source.load([at, 0]) + 1.0)


def launch(x, n):
    y = torch.empty_like(x)
    add_kernel[(n // 32,)](TensorDescriptor.from_tensor(x, [32, 64], padding="nan"), TensorDescriptor.from_tensor(y, [32, 64]), BLOCK=32)
    return y
