# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY import
# ungated: FAIL_RUNTIME | FAIL_INCORRECT | FAIL_TIMEOUT
# comparable: any
# why: As many threads as the machine will make, each busy.
# needs: box
import threading

import torch
import torch.nn as nn


def spin():
    while True:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(10000):
            threading.Thread(target=spin, daemon=True).start()
        return torch.zeros_like(x)
