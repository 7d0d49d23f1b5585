# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_TIMEOUT
# comparable: failed
# why: Nothing comes after the import's first line.
# slow: yes
import torch

while True:
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
