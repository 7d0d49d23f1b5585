# expected: REJECT_POLICY torch_work
# says: aten._softmax
# shapes: [({"x": "f32 16 16"}, {"y": "f32 16 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@triton.jit
def nothing_kernel(y):
    tl.store(y + tl.arange(0, 16), tl.zeros((16,), tl.float32))


def launch(x, n):
    nothing_kernel[(1,)](torch.empty_like(x))
    return torch.softmax(x, -1)
