# expected: plan
# task: gpu_scale_rows_add
# steps: choose
import torch
import triton
import triton.language as tl


def at_most_the_row(configs, arguments, **_):
    fitting = [config for config in configs if config.kwargs["BLOCK"] <= triton.next_power_of_2(arguments["m"])]
    return fitting or configs[:1]


@triton.autotune(configs=[triton.Config({"BLOCK": 1 << exponent}) for exponent in range(5, 12)], key=["m"],
                 prune_configs_by={"early_config_prune": at_most_the_row, "top_k": 3,
                                   "perf_model": lambda m, BLOCK, **_: abs(m - BLOCK)})
@triton.jit
def scale_kernel(x, b, z, y, m, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = row * m + columns
    values = tl.load(x + at, mask=columns < m) * tl.load(b + row) + tl.load(z + at, mask=columns < m)
    tl.store(y + at, values, mask=columns < m)


def launch(x, b, z, n, m):
    y = torch.empty_like(x)
    scale_kernel[lambda meta: (triton.cdiv(m, meta["BLOCK"]), n)](x, b, z, y, m)
    return y
