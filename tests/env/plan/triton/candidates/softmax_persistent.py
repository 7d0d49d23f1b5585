# expected: plan
# task: gpu_softmax_scaled_bf16
# steps: launch
# interpreted: no, it asks the compiled kernel for its registers
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(y, x, a, n, m, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < m
    scale = tl.load(a + columns, mask=inside, other=0.0).to(tl.float32)
    for row in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=num_stages):
        values = tl.load(x + row * m + columns, mask=inside, other=-float("inf")).to(tl.float32)
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + row * m + columns, (powers / tl.sum(powers, axis=0) * scale).to(tl.bfloat16), mask=inside)


def programs(kernel, warps):
    """As many as are on the GPU at once."""
    properties = triton.runtime.driver.active.utils.get_device_properties(torch.cuda.current_device())
    kernel._init_handles()
    by_registers = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * warps)
    by_shared = properties["max_shared_mem"] // max(1, kernel.metadata.shared)
    return properties["multiprocessor_count"] * min(by_registers, by_shared)


def launch(x, a, n, m):
    y = torch.empty_like(x)
    block, warps = triton.next_power_of_2(m), 8
    kernel = softmax_kernel.warmup(y, x, a, n, m, BLOCK=block, num_stages=2, num_warps=warps, grid=(1,))
    softmax_kernel[(min(n, programs(kernel, warps)), 1, 1)](y, x, a, n, m, BLOCK=block, num_stages=2, num_warps=warps)
    return y
