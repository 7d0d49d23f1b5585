# expected: FAIL_PLAN output_type
# says: torch.float32; it must be torch.float16
# shapes: [({"x": "f16 16"}, {"y": "f16 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    return torch.zeros(n, device=x.device)
