"""What a problem takes of memory, told from shapes before anything is drawn."""
import contextlib
import signal
import threading

import torch

from problem import ProblemError

LIMIT_S = 2.0  # for one problem: most take hundredths of a second, and those that recur step by step are not worth waiting for
AGAIN_S = 0.2  # after which a problem that catches everything is told once more
SHARE = 0.95  # of the memory that there is, for what cannot be done without
GIB = 2**30


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


def check(problem, available):
    """Errors: ProblemError where the exchange, the model, a draw and the outputs that are compared do not fit into `available` bytes."""
    found = shapes(problem)
    if found is None:
        return
    needed = 3 * found["inputs"] + 2 * found["weights"] + 3 * found["outputs"]
    if needed > SHARE * available:
        parts = ", ".join(f"{found[name] / GIB:.1f} GiB of {name}" for name in ("inputs", "weights", "outputs"))
        raise ProblemError("does_not_fit", f"the problem needs at least {needed / GIB:.0f} GiB to be judged ({parts}); there are "
                           f"{available / GIB:.0f} GiB")
