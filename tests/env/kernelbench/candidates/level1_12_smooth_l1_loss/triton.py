# problem: level1/12_smooth_l1_loss.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


PARTS = 1024


@triton.jit
def loss_kernel(predicted, wanted, parts, n, beta, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < n
        error = tl.abs(tl.load(predicted + at, mask=inside, other=0.0) - tl.load(wanted + at, mask=inside, other=0.0))
        total += tl.where(error < beta, 0.5 * error * error / beta, error - 0.5 * beta)
    tl.store(parts + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def mean_kernel(parts, loss, n, PARTS: tl.constexpr):
    tl.store(loss, tl.sum(tl.load(parts + tl.arange(0, PARTS)), axis=0) / n)


class ModelNew(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def forward(self, predicted, wanted):
        parts = torch.empty(PARTS, dtype=torch.float32, device=predicted.device)
        loss = torch.empty((), dtype=predicted.dtype, device=predicted.device)
        loss_kernel[(PARTS,)](predicted, wanted, parts, predicted.numel(), self.beta, BLOCK=1024)
        mean_kernel[(1,)](parts, loss, predicted.numel(), PARTS=PARTS)
        return loss
