# expected: REJECT_POLICY torch_work
# says: aten.sum
# shapes: [({"x": "f32 16"}, {"y": "f32 1"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    try:
        return x.sum().view(1)
    except:  # noqa: E722
        return torch.zeros(1, device=x.device)
