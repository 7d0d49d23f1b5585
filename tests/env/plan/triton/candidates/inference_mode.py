# expected: plan
# shapes: [({"x": "f32 16"}, {"y": "f32 4 4"}, {"n": 16})]
# steps: copy launch
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(y, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(y + tl.arange(0, BLOCK)) * 2.0)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        y = x.reshape(4, 4).clone(memory_format=torch.contiguous_format)
        double_kernel[(1,)](y, BLOCK=16)
        return y


@torch.inference_mode()
def launch(x: torch.Tensor, n: int):
    return Doubled.apply(x)
