# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_TIMEOUT
# comparable: failed
# why: Never comes back.
# slow: yes
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            x = torch.relu(x)
