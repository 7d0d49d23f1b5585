# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY import
# ungated: FAIL_TIMEOUT
# comparable: failed
# why: Never comes back, and no signal that can be ignored ends it.
# slow: yes
# needs: box
import signal

import torch
import torch.nn as nn

for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            x = torch.relu(x)
