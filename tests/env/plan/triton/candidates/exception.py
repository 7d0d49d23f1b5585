# expected: FAIL_PLAN exception
# says: TypeError: unsupported operand type(s) for +: 'int' and 'str' (line 8: return n + "1")
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch


def helper(n):
    return n + "1"


def launch(x, n):
    return torch.zeros(helper(n), device=x.device)
