# expected: REJECT_POLICY torch_work
# says: use tl.arange in the kernel
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return torch.arange(n, dtype=torch.float32, device=x.device)
