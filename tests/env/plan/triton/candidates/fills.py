# expected: plan
# shapes: [({"x": "f32 16"}, {"y": "bf16 16", "z": "i32 16", "w": "f16 4"}, {"n": 16})]
# steps: memset memset memset memset
import torch
import triton
import triton.language as tl


def launch(x, n):
    y = torch.full((n,), 0.1, dtype=torch.bfloat16, device=x.device)
    z = x.new_zeros(n, dtype=torch.int32).fill_(-7)
    w = torch.empty(4, dtype=torch.float16, device="cuda:0")
    w[1:3].fill_(2.0)
    return y, z, w
