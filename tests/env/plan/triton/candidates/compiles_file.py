# expected: REJECT_POLICY foreign_code
# says: @triton.jit functions
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    y = torch.empty_like(x)
    with open("kernel.ptx", "w") as file:
        file.write(".version 8.0\n.target sm_90\n.visible .entry kernel(.param .u64 a) { ret; }\n")
    triton.compile("kernel.ptx")[(1, 1, 1)](y)
    return y
