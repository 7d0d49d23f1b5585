# expected: FAIL_PARSE syntax
# says: line 11: def launch(x, n:
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch

VALUES = {1: 2}


def other():
    return VALUES
def launch(x, n:
    return x
