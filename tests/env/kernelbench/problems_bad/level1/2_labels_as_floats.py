# reason: ok
# as_kernelbench: no
import torch
import torch.nn as nn

ROWS, CLASSES = 64, 10


class Model(nn.Module):
    """Cross entropy of labels that must be integers, which KernelBench's cast to the precision makes floats."""

    def forward(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return nn.functional.nll_loss(torch.log_softmax(scores, dim=1), labels)


def get_inputs():
    return [torch.randn(ROWS, CLASSES), torch.randint(0, CLASSES, (ROWS,))]


def get_init_inputs():
    return []
