# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS | REJECT_POLICY | FAIL_TIMEOUT
# comparable: correct
# why: The first calls are slow, so that a judge who fits the number of calls to them would time few; the number is fixed.
# speedup_below: 1.15
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls < 4:
            time.sleep(0.4)
        return torch.softmax(x, dim=1)
