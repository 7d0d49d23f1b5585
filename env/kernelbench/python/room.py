"""What a problem takes of memory, told from shapes before anything is drawn, and how much of the device's memory the reference may keep from
call to call."""
import contextlib
import dataclasses
import gc
import os
import signal
import threading

import torch

from problem import ProblemError

STRICT_SHARE, COMPARABLE_SHARE = 0.15, 0.2  # of the device's memory
IDLE_BYTES = 8 << 30
HOST_BYTES = 4 << 30  # what is kept where there is no device
LIMIT_S = 2.0  # to tell one problem's shapes: most take hundredths of a second, and those that recur step by step are not worth waiting for
AGAIN_S = 0.2  # after which a problem that catches everything is told once more
SHARE = 0.95  # of the memory that there is, for what cannot be done without
GIB = 2**30


def tensors_of(inputs, expected):
    return [one for one in inputs if isinstance(one, torch.Tensor)] + [one.reference for one in expected]


def bytes_of(inputs, expected):
    return sum(one.numel() * one.element_size() for one in tensors_of(inputs, expected))


class Room:
    """Comparable draws stay on the device while they fit there, then go to the host, and are drawn again where they fit nowhere."""

    def __init__(self, device, held=0):
        """`held`: bytes of the device that are this process's beside torch's own. What others have, such as a policy, is not there."""
        whole = torch.cuda.get_device_properties(0).total_memory if device == "cuda" else HOST_BYTES / STRICT_SHARE
        self.available = min(int(whole), torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() + held) if device == "cuda" else host_bytes()
        share = whole / int(os.environ.get("TEMPER_MODULE_LANES", 1))  # other lanes keep draws on the same device
        self.strict_bytes, self.comparable_bytes = int(share * STRICT_SHARE), int(share * COMPARABLE_SHARE)

    def fit(self, found, precision_bytes):
        """Draws that are kept may take what is left beside what is needed: env/kernelbench/module_memory.cc has the same sum."""
        inputs, weights, outputs = (found[name] for name in ("inputs", "weights", "outputs"))
        widened = 8 // precision_bytes
        needed = 3 * inputs + (6 + widened) * weights + 5 * outputs + widened * (inputs + outputs)
        spare = max(0, self.available - needed)
        self.strict_bytes = min(self.strict_bytes, int(spare * STRICT_SHARE / (STRICT_SHARE + COMPARABLE_SHARE)))
        self.comparable_bytes = min(self.comparable_bytes, int(spare * COMPARABLE_SHARE / (STRICT_SHARE + COMPARABLE_SHARE)))

    def settle(self, kept, trial):
        """Moves the draw of `trial` to where there is room."""
        on_device = sum(bytes_of(*one) for one in kept.values() if tensors_of(*one)[0].device.type == "cuda")
        if on_device <= self.comparable_bytes or tensors_of(*kept[trial])[0].device.type != "cuda":
            return
        inputs, expected = kept[trial]
        if bytes_of(inputs, expected) * 2 > host_bytes():
            del kept[trial]
            return
        kept[trial] = moved(inputs, expected, "cpu")

    @staticmethod
    def back(inputs, expected, device):
        return moved(inputs, expected, device)


def moved(inputs, expected, device):
    for one in expected:
        if one.reference.device.type != device:
            expected = [dataclasses.replace(each, reference=each.reference.to(device)) for each in expected]
            break
    return [one.to(device) if isinstance(one, torch.Tensor) else one for one in inputs], expected


def host_bytes():
    """What is free on the host."""
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


def used_bytes(device):
    return torch.cuda.memory_allocated() if device == "cuda" else 0


def leave(device):
    """Gives back memory that is free but still ours, where that is so much that a candidate may lack it."""
    if device == "cuda" and torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > IDLE_BYTES:
        torch.cuda.empty_cache()


def tidy(device):
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def tensors_bytes(values):
    return sum(one.numel() * one.element_size() for one in values if isinstance(one, torch.Tensor))


def warm_up():
    """Has torch import what its first call without memory imports. That takes seconds, and must not be stopped half-way."""
    with torch.device("meta"), torch.no_grad():
        torch.relu(torch.rand(1))


class TookTooLong(BaseException):
    """No Exception, which problems catch."""


@contextlib.contextmanager
def limit(seconds):
    """Ends what is done within after so many seconds, as soon as Python gets its turn. Only a process's first thread can be told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def tell(*_):
        raise TookTooLong
    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def shapes(problem, seconds=LIMIT_S):
    """Bytes of inputs, weights and outputs, from tensors without memory; None where the problem cannot be run with such, or takes longer."""
    warm_up()
    try:
        with limit(seconds), torch.device("meta"), torch.no_grad():
            arguments = [on_meta(one) for one in problem.module.get_init_inputs()]
            inputs = [cast_on_meta(one, problem.dtype) for one in problem.module.get_inputs()]
            found = {"inputs": tensors_bytes(inputs)}
            model = problem.module.Model(*arguments).to(problem.dtype)
            found["weights"] = tensors_bytes(model.state_dict().values())
            result = model(*inputs)
            found["outputs"] = tensors_bytes(result if isinstance(result, (tuple, list)) else [result])
            return found
    except (Exception, TookTooLong):
        return None


def on_meta(value):
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def cast_on_meta(value, dtype):
    return value.to(device="meta", dtype=dtype) if isinstance(value, torch.Tensor) else value


def check(problem, keep):
    """Has the Room keep no more than fits. Errors: ProblemError where the exchange, the model, a draw and the outputs that are compared do not."""
    found, available = shapes(problem), keep.available
    if found is None:
        return
    needed = 3 * found["inputs"] + 2 * found["weights"] + 3 * found["outputs"]
    if needed > SHARE * available:
        parts = ", ".join(f"{found[name] / GIB:.1f} GiB of {name}" for name in ("inputs", "weights", "outputs"))
        raise ProblemError("does_not_fit", f"the problem needs at least {needed / GIB:.0f} GiB to be judged ({parts}); there are "
                           f"{available / GIB:.0f} GiB")
    if problem.device == "cuda":
        keep.fit(found, problem.dtype.itemsize)
