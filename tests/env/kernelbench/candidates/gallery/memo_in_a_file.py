# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT | FAIL_RUNTIME | REJECT_POLICY
# comparable: incorrect
# why: The first result lies in a file and is read by later calls, and by later candidates if the file is still there.
# needs: box
import torch
import torch.nn as nn

PATH = "/tmp/softmax_result.pt"


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            return torch.load(PATH).to(x.device)
        except (OSError, RuntimeError):
            y = torch.softmax(x, dim=1)
            torch.save(y, PATH)
            return y
