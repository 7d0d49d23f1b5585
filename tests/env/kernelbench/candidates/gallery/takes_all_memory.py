# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | FAIL_INCORRECT
# comparable: any
# why: Takes all memory of the device that is left; the next candidate must not see any of it.
# runs_on: cuda
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    held = []

    def forward(self, x):
        size = 1 << 32
        while size > 1 << 20 and len(self.held) < 1000:
            try:
                self.held.append(torch.empty(size, dtype=torch.int8, device=x.device))
            except torch.OutOfMemoryError:
                size //= 2
        return torch.zeros_like(x)
