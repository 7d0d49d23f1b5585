# expected: plan
# task: gpu_sigmoid_mix
# steps: launch
# interpreted: no, the interpreter takes tuples of tensors for nothing
import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["count"])
def mix_kernel(inputs, y, count, sizes, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    share = tl.sigmoid(tl.load(inputs[2] + at // sizes[1], mask=inside, other=0.0))
    values = tl.load(inputs[0] + at, mask=inside) * share + tl.load(inputs[1] + at, mask=inside) * (1.0 - share)
    tl.store(y + at, values, mask=inside)


def launch(x, z, b, n, m):
    y = torch.empty_like(x)
    mix_kernel[(triton.cdiv(n * m, 1024),)]((x, z, b), y, n * m, (n, m), BLOCK=1024)
    return y
