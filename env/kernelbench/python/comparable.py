"""What KernelBench would have seen: its seeds, its draws on the host's generator, its outputs, and its way to time.

Source: ScalingIntelligence/KernelBench at 423217d, src/kernelbench/eval.py and timing.py.
"""
import contextlib
import time
import typing

import torch

from problem import SEED, set_seed

WARM_UPS, DISCARDED = 3, 1
FLUSH_BYTES = 256 << 20


class Trial(typing.NamedTuple):
    inputs: list
    expected: list  # compare.Expected of each output


def trial_seeds(count):
    """KernelBench draws them from its one seed, so that they never change."""
    generator = torch.Generator().manual_seed(SEED)
    return [torch.randint(0, 2**32 - 1, (1,), generator=generator).item() for _ in range(count)]


def draw_inputs(problem, seed):
    """As get_inputs gives them, on the host."""
    set_seed(seed)
    return problem.module.get_inputs()


@contextlib.contextmanager
def default_precision():
    """Torch as it comes: products in full, convolutions on a GPU in TF32."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def flush_cache():
    torch.empty(FLUSH_BYTES // 8, dtype=torch.int64, device="cuda").fill_(42)


def timed_on_device(run):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    flush_cache()
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def timed_on_host(run):
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def times_ms(run, inputs, trials, exchange):
    """One time a trial, as the process that runs the module sees it. Nobody believes it."""
    def once():
        return run(inputs)

    for _ in range(WARM_UPS):
        once()
        exchange.synchronize()
    if exchange.device == "cuda":
        torch.cuda.empty_cache()
    timed = timed_on_device if exchange.device == "cuda" else timed_on_host
    return [timed(once) for _ in range(trials + DISCARDED)][DISCARDED:]
