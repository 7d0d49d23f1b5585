# expected: REJECT_POLICY wide_fill
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    torch.full((16,), 1.5, dtype=torch.float64, device=x.device)
    return torch.zeros_like(x)
