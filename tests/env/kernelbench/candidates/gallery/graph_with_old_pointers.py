# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_INCORRECT | FAIL_RUNTIME
# comparable: any
# why: A graph captured over the first call's addresses is replayed whatever the addresses are now.
# runs_on: cuda
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    graph = None

    def forward(self, x):
        if self.graph is None:
            torch.cuda.synchronize()
            torch.softmax(x, dim=1)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.softmax(x, dim=1)
        self.graph.replay()
        return self.y
