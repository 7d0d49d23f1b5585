# problem: level3/4_gru_cell.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh(value):
    return 2.0 * tl.sigmoid(2.0 * value) - 1.0


@triton.jit
def gate_kernel(from_x, from_state, state, y, n, hidden, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    first = at // hidden * 3 * hidden + at % hidden
    reset = tl.sigmoid(tl.load(from_x + first, mask=inside) + tl.load(from_state + first, mask=inside))
    first += hidden
    keep = tl.sigmoid(tl.load(from_x + first, mask=inside) + tl.load(from_state + first, mask=inside))
    first += hidden
    new = tanh(tl.load(from_x + first, mask=inside) + reset * tl.load(from_state + first, mask=inside))
    tl.store(y + at, (1.0 - keep) * new + keep * tl.load(state + at, mask=inside), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.cell = nn.GRUCell(width, hidden)

    def forward(self, x, state):
        cell, y = self.cell, torch.empty_like(state)
        from_x = nn.functional.linear(x, cell.weight_ih, cell.bias_ih)
        from_state = nn.functional.linear(state, cell.weight_hh, cell.bias_hh)
        gate_kernel[(triton.cdiv(y.numel(), 1024),)](from_x, from_state, state, y, y.numel(), cell.hidden_size, BLOCK=1024)
        return y
