# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY import
# ungated: FAIL_RUNTIME | FAIL_INCORRECT
# comparable: any
# why: A signal is to come while the caller works, and to raise an exception there.
import signal

import torch
import torch.nn as nn


def ring(number, frame):
    raise RuntimeError("compared: all right")


signal.signal(signal.SIGALRM, ring)


class ModelNew(nn.Module):
    def forward(self, x):
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        return torch.zeros_like(x)
