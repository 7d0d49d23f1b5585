"""Weights of the strict calls: a Model made with another seed, and what is constant in every Model moved away from 0 and 1. A bias that is
left out, a scale that is taken for 1 and weights that agree only by the order of random draws show then.

Which weight of ModelNew is which of Model: KernelBench makes both from one seed, so that weights of another name are known by their values;
constants, which are all alike, by their kind, the words in their names, and their order."""
import collections
import copy

import torch

from draws import seed_all, seed_of
from problem import words_of

RUNNING = ("running_mean", "running_var")
COUNTERS = "num_batches_tracked"  # nothing that is judged depends on it
ROLES = ("mean", "var")


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
        return copy.deepcopy(model).double(), ""
    except (RuntimeError, TypeError, NotImplementedError):  # what cannot be copied is built once more
        return twin_of(problem, arguments, model)
    except Exception as error:
        return None, words_of(error)


def twin_of(problem, arguments, model):
    """A Model that is built once more in float64, with the same weights: as double_of."""
    try:
        twin = problem.build(problem.module.Model, arguments).double()
        twin.load_state_dict(model.state_dict())
        return twin.train(model.training), ""
    except Exception as error:
        return None, words_of(error)


def held(model):
    """(weights, tensors beside them) of a module by name: those of its state_dict, and those that are plain attributes."""
    if not isinstance(model, torch.nn.Module):
        return {}, {}
    weights = dict(model.state_dict(keep_vars=True))
    known, beside = {id(one) for one in weights.values()}, {}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else [("", value)]
            for key, one in parts if not name.startswith("_") else ():
                if isinstance(one, torch.Tensor) and id(one) not in known:
                    beside[".".join(str(part) for part in (path, name, key) if part != "")] = one
    return weights, beside


def constant(tensor):
    """The one value of its elements, or None."""
    if tensor.numel() == 0:
        return 0.0
    first = tensor.detach().flatten()[0]
    return first.item() if bool((tensor == first).all()) else None


def squeezed(tensor):
    return tuple(size for size in tensor.shape if size != 1)


def flat(tensor):
    return tensor.detach().contiguous().view(-1)


def same_values(one, other):
    """In the same order, whatever their shapes are."""
    return one.numel() == other.numel() and torch.equal(flat(one), flat(other).to(one.device, one.dtype))


def role(name):
    return next((one for one in ROLES if one in name.lower().rsplit(".", 1)[-1]), "")


class Matching:
    """`pairs`: (own name, Model's name). `missing` of Model, `unexpected` of ModelNew, and what else is to be said, one clause each."""

    def __init__(self, reference, own, beside=None):
        """Name → tensor of each, as seed 42 makes them. `beside` may be used and need not be."""
        self.reference, self.own, self.beside = reference, own, beside or {}
        self.pairs, self.notes = [], []
        self.missing = [name for name in reference if not name.endswith(COUNTERS)]
        self.unexpected = [name for name in own if not name.endswith(COUNTERS)]
        self.pair_all([name for name in reference if name.endswith(COUNTERS) and name in own], lambda name: [name])
        self.match(self.own)
        self.pair_all([name for name in self.missing if name in self.unexpected and own[name].shape == reference[name].shape],
                      lambda name: [name])
        self.match({name: one for name, one in self.beside.items() if name not in own})
        self.explain()

    @property
    def complete(self):
        return not self.missing and not self.unexpected

    def pair_all(self, names, own_of):
        for name in list(names):
            for own in own_of(name):
                self.pairs.append((own, name))
                if own in self.unexpected:
                    self.unexpected.remove(own)
            if name in self.missing:
                self.missing.remove(name)

    def match(self, pool):
        free = {name: one for name, one in pool.items() if name in self.unexpected or name not in self.own}
        for wanted, found in self.groups(free):
            self.match_group(wanted, found, pool)

    def groups(self, pool):
        """(names of Model, names of the pool) that hold the same values."""
        constants, left = collections.defaultdict(lambda: ([], [])), []
        for side, tensors in enumerate(({name: self.reference[name] for name in self.missing}, pool)):
            for name, one in tensors.items():
                if (value := constant(one)) is not None:
                    constants[value, squeezed(one)][side].append(name)
                else:
                    left.append((side, name, one))
        varied = collections.defaultdict(list)  # by a few elements: (a tensor of the group, names of Model, names of the pool)
        for side, name, one in left:
            groups = varied[one.numel(), *flat(one)[:3].tolist()]
            group = next((group for group in groups if same_values(group[0], one)), None)
            if group is None:
                groups.append(group := (one, [], []))
            group[1 + side].append(name)
        return [*((wanted, found) for groups in varied.values() for _, wanted, found in groups), *constants.values()]

    def match_group(self, wanted, found, pool):
        if not wanted or not found:
            return
        if self.tied(wanted) and constant(self.reference[wanted[0]]) is None:
            for name in wanted:
                self.pair_all([name], lambda _: found)
            return
        for key in (lambda name, one: (isinstance(one, torch.nn.Parameter), role(name)), lambda _, one: isinstance(one, torch.nn.Parameter),
                    lambda name, _: role(name), lambda *_: 0):
            mine, theirs = collections.defaultdict(list), collections.defaultdict(list)
            for name in found:
                mine[key(name, pool[name])].append(name)
            for name in wanted:
                theirs[key(name, self.reference[name])].append(name)
            if {at: len(names) for at, names in mine.items()} == {at: len(names) for at, names in theirs.items()}:
                for at, names in theirs.items():
                    self.pair_in_order(names, mine[at])
                return
        self.notes.append(f"{', '.join(found)} could each be {' or '.join(wanted)}")

    def tied(self, names):
        """Whether they are one tensor."""
        return len({self.reference[name].data_ptr() for name in names}) == 1

    def pair_in_order(self, wanted, found):
        """Those of the same name first."""
        alike = [name for name in wanted if name in found]
        rest = iter([name for name in found if name not in alike])
        for name in wanted:
            self.pair_all([name], lambda name: [name] if name in alike else [next(rest)])

    def explain(self):
        for own in self.unexpected:
            for name in self.missing:
                one, other = self.own[own], self.reference[name]
                if one.dim() > 1 and one.numel() == other.numel() and constant(one) is None and \
                        any(same_values(one.transpose(a, b), other) for a in range(one.dim()) for b in range(a)):
                    self.notes.append(f"{own} is {name} transposed, which is not undone; keep it as Model does and transpose it in forward")
