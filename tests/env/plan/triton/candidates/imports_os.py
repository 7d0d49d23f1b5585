# expected: REJECT_POLICY import
# says: line 4: import os
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import os

import torch


def launch(x, n):
    return torch.empty_like(x)
