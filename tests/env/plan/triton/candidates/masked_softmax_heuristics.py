# expected: plan
# task: gpu_masked_softmax
# steps: launch
import torch
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["m"]),
                    "num_warps": lambda args: 8 if args["m"] > 1024 else 4})
@triton.jit
def softmax_kernel(x, k, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    last = tl.load(k + row)
    values = tl.load(x + row * m + columns, mask=columns <= last, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * m + columns, powers / tl.sum(powers, axis=0), mask=columns < m)


def launch(x, k, n, m):
    y = torch.empty_like(x)
    softmax_kernel[(n,)](x, k, y, m)
    return y
