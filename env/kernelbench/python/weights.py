"""Weights of the strict calls: a Model made with another seed, and what is constant in every Model moved away from 0 and 1. A bias that is
left out, a scale that is taken for 1 and weights that agree only by the order of random draws show then."""
import copy

import torch

from draws import seed_all, seed_of
from problem import words_of

RUNNING = ("running_mean", "running_var")


def built_on_device(problem, arguments, seed):
    """A Model of another seed, drawn on the device where that works."""
    with torch.no_grad():
        if problem.device != "cpu":
            try:
                with torch.device(problem.device):
                    seed_all(seed)
                    return problem.module.Model(*arguments).to(device=problem.device, dtype=problem.dtype)
            except (RuntimeError, TypeError, ValueError):
                pass
        return problem.build(problem.module.Model, arguments, seed % 2**63)


def moved(tensor, name, generator):
    """A constant tensor's new values: as far from 0 and 1 as biases and scales of trained networks are, and of one sign where they were."""
    value = tensor.flatten()[0].item()
    unit = torch.rand(tensor.shape, generator=generator, device=tensor.device, dtype=torch.float32)
    if name.endswith("running_var"):
        return 0.5 + unit
    if value == 0:
        return (unit - 0.5) * 0.8
    return value * (0.5 + unit)


def perturb(model, others, seed):
    """Changes in place what is the same constant in `others`, the state of a Model of another seed."""
    generator, changed = None, set()
    parameters = {name for name, _ in model.named_parameters()}
    with torch.no_grad():
        for name, tensor in model.state_dict(keep_vars=True).items():
            if not tensor.dtype.is_floating_point or tensor.numel() == 0 or tensor.data_ptr() in changed:
                continue
            if name not in parameters and not name.endswith(RUNNING):
                continue  # a table or a mask has its values for a reason
            changed.add(tensor.data_ptr())
            first = tensor.flatten()[0]
            if bool((tensor == first).all()) and bool((others[name] == first).all()):
                generator = generator or torch.Generator(device=tensor.device).manual_seed(seed)
                tensor.copy_(moved(tensor, name, generator))


def strict_model(problem, arguments, model, key):
    """A Model with strict weights. `model` is KernelBench's. Errors: those of building."""
    seed = seed_of(key, "weights")
    other = built_on_device(problem, arguments, seed)
    perturb(other, model.state_dict(), seed)
    return other


def double_of(problem, arguments, model):
    """(the same in float64, "") or (None, why there is none)."""
    try:
        try:
            return copy.deepcopy(model).double(), ""
        except (RuntimeError, TypeError, NotImplementedError):  # what cannot be copied is built once more
            twin = problem.build(problem.module.Model, arguments).double()
            twin.load_state_dict(model.state_dict())
            return twin.train(model.training), ""
    except Exception as error:
        return None, words_of(error)
