# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT | PASS
# comparable: correct
# why: A stream of its own waits for nobody and copies the inputs while the GPU is held for them. It gets what lay there before, or comes late and has gained nothing.
# speedup_below: 1.0
# runs_on: cuda
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    stream = None

    def forward(self, x):
        self.stream = self.stream or torch.cuda.Stream()
        with torch.cuda.stream(self.stream):
            early = x[:64].cpu()
        y = torch.softmax(x, dim=1)
        y[:64] = torch.softmax(early, dim=1).cuda()
        return y
