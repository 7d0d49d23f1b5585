# expected: FAIL_PLAN reads_values
# says: (line 9: if x[0].item() > 0:)
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch


def launch(x, n):
    y = torch.empty_like(x)
    if x[0].item() > 0:
        y.zero_()
    return y
