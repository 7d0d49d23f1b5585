# expected: REJECT_POLICY torch_work
# says: converts torch.float32 to torch.bfloat16
# shapes: [({"x": "f32 16"}, {"y": "bf16 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return x.to(torch.bfloat16)
