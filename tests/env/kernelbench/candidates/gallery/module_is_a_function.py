# problem: level1/3_row_softmax.py
# backend: cuda
# strict: FAIL_PARSE | FAIL_RUNTIME
# comparable: failed
# why: ModelNew is no class.
import torch


def ModelNew():
    return lambda x: torch.softmax(x, dim=1)
