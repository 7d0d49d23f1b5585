# expected: plan
# shapes: [({"x": "bf16 4096"}, {"y": "bf16 4096"}, {"n": 4096})]
# steps: launch
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy_kernel(source, target, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    target.store([at], source.load([at]))


def launch(x, n):
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(n, 256),)](TensorDescriptor(x, [n], [1], [256], padding="nan"), TensorDescriptor.from_tensor(y, [256]), 256)
    return y
