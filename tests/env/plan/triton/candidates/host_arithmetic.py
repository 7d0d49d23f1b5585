# expected: plan
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
# steps: memset
import torch
import triton
import triton.language as tl


def launch(x, n):
    scale = torch.tensor(0.25)
    sizes = torch.arange(4)
    return torch.full_like(x, scale.item() * sizes.numel())
