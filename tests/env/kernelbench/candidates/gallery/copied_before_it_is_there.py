# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT
# comparable: correct
# why: A stream of its own waits for nobody and copies the inputs while the GPU is held for them: what it gets is what lay there before.
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
