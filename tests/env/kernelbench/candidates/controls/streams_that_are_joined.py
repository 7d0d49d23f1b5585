# problem: level1/3_row_softmax.py
# backend: cuda
# strict: PASS
# comparable: correct
# why: Two streams share the rows, each waits for what came before, and both are waited for.
# runs_on: cuda
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    streams = None

    def forward(self, x):
        if self.streams is None:
            self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        y, now = torch.empty_like(x), torch.cuda.current_stream()
        for stream, part, result in zip(self.streams, x.chunk(2), y.chunk(2)):
            stream.wait_stream(now)
            with torch.cuda.stream(stream):
                result.copy_(torch.softmax(part, dim=1))
            now.wait_stream(stream)
            y.record_stream(stream)
        return y
