# expected: plan
# task: gpu_weighted_mse
# steps: memset launch
# interpreted: no, its programs wait for each other
import torch
import triton
import triton.language as tl


@triton.jit
def mse_kernel(x, z, a, partial, arrived, y, m, count, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float64)
    for begin in range(program * BLOCK, count, PROGRAMS * BLOCK):
        at = begin + tl.arange(0, BLOCK)
        off = tl.load(x + at, mask=at < count, other=0.0) - tl.load(z + at, mask=at < count, other=0.0)
        total += (off * off).to(tl.float64) * tl.load(a + at % m, mask=at < count, other=0.0)
    tl.store(partial + program, tl.sum(total, axis=0))
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    if program == 0:
        while tl.atomic_add(arrived, 0, sem="acquire") < PROGRAMS:
            pass
        tl.debug_barrier()
        programs = tl.arange(0, PROGRAMS)
        tl.store(y, tl.sum(tl.load(partial + programs, volatile=True), axis=0).to(tl.float32))


def launch(x, z, a, n, m):
    programs = 128
    y = torch.empty(1, device=x.device)
    partial = torch.empty(programs, dtype=torch.float64, device=x.device)
    arrived = torch.zeros(1, dtype=torch.int32, device=x.device)
    mse_kernel[(programs,)](x, z, a, partial, arrived, y, m, n * m, PROGRAMS=programs, BLOCK=1024, launch_cooperative_grid=True)
    return y
