# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_RUNTIME | FAIL_INCORRECT | FAIL_TIMEOUT | REJECT_POLICY
# comparable: any
# why: A file without end.
# needs: box
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        with open('/tmp/large', 'wb') as file:
            for _ in range(1 << 17):
                file.write(bytes(1 << 20))
        return torch.zeros_like(x)
