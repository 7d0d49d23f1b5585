# expected: plan
# task: gpu_flash_attention_bf16
# steps: choose
# interpreted: no, the interpreter takes bf16 in a dot for integers
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(arguments):
    """The descriptors' blocks follow the configuration."""
    arguments["q"].block_shape = arguments["y"].block_shape = [1, arguments["BM"], 64]
    arguments["k"].block_shape = arguments["v"].block_shape = [1, arguments["BN"], 64]


CONFIGS = [triton.Config({"BM": 128, "BN": 64}, num_warps=8, num_stages=3, pre_hook=set_blocks),
           triton.Config({"BM": 64, "BN": 64}, num_warps=4, num_stages=2, pre_hook=set_blocks)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def attention_kernel(q, k, v, y, n, scale, BM: tl.constexpr, BN: tl.constexpr):
    head, first = tl.program_id(1), tl.program_id(0) * BM
    rows = first + tl.arange(0, BM)
    query = q.load([head, first, 0]).reshape([BM, 64])
    greatest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, 64), tl.float32)
    for begin in range(0, min(first + BM, n), BN):
        columns = begin + tl.arange(0, BN)
        key = k.load([head, begin, 0]).reshape([BN, 64])
        scores = tl.dot(query, tl.trans(key)) * scale
        scores = tl.where((rows[:, None] >= columns[None, :]) & (columns[None, :] < n), scores, -float("inf"))
        now = tl.maximum(greatest, tl.max(scores, axis=1))
        powers = tl.exp(scores - now[:, None])
        shrink = tl.exp(greatest - now)
        total = total * shrink + tl.sum(powers, axis=1)
        value = v.load([head, begin, 0]).reshape([BN, 64])
        out = tl.dot(powers.to(tl.bfloat16), value, out * shrink[:, None])
        greatest = now
    y.store([head, first, 0], (out / total[:, None]).to(tl.bfloat16).reshape([1, BM, 64]))


def launch(q, k, v, p, h, n):
    y = torch.empty_like(q)
    blocks = [TensorDescriptor.from_tensor(one.view(p * h, n, 64), [1, 64, 64]) for one in (q, k, v, y)]
    attention_kernel[lambda meta: (triton.cdiv(n, meta["BM"]), p * h)](*blocks, n, 0.125)
    return y
