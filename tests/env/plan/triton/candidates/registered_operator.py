# expected: FAIL_PLAN custom_operator
# says: call the Python function itself
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


@torch.library.custom_op("ours::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def launch(x, n):
    return doubled(x)
