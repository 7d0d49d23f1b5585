"""What independent draws cannot give: places of an input that never change, symmetry, order, equal rows, sums, few values. A problem promises it
by what get_inputs() draws, so that right answers may rely on it. It is learned from plain draws, and departures from them keep it.

Signs and ranges are none: an answer that is right for positive numbers alone is not right.
"""
from dataclasses import dataclass, field

import torch

DRAWS = 12
FEW = 16  # values
MOST_BYTES = {"cpu": 32 << 20, "cuda": 2 << 30}  # of all inputs; of larger ones fewer draws are looked at
LEAST_DRAWS = 3
NEAR = 2e-6  # of what is summed, for sums in f32; those of many independent numbers differ by more


def slices(tensor):
    """The tensor in parts of bounded size, each flat."""
    return tensor.contiguous().view(-1).split(1 << 24)


def axes(tensor, least=2):
    return [axis for axis in range(tensor.dim()) if tensor.shape[axis] >= least]


def is_square(tensor):
    return tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] > 1


def constant_of(sums, sizes):
    """The one value that all sums have, or None. `sizes`: of what is summed."""
    value = sums.flatten()[0].item() if sums.numel() else 0.0
    return value if bool(((sums - value).abs() <= NEAR * sizes.clamp_(min=1e-12)).all()) else None


@dataclass
class Structure:
    """Of one input of floating point. Each field is what held in all draws."""
    fixed: torch.Tensor = None  # places whose value never changes
    values: torch.Tensor = None  # an input, for the values there
    few: bool = False  # it has few values, or some that are not finite: it stays as it is drawn
    integers: bool = False
    symmetric: bool = False
    equal: list = field(default_factory=list)  # axes along which all is equal
    sorted: dict = field(default_factory=dict)  # axis → whether it descends
    sums: dict = field(default_factory=dict)  # axis → the sum
    norms: dict = field(default_factory=dict)  # axis → the sum of squares
    positive: bool = False
    same_as: int = None  # an earlier input that it equals

    @property
    def kept(self):
        """Whether it is left as it is drawn."""
        return self.few or self.fixed is not None and bool(self.fixed.all())

    @property
    def any(self):
        return self != Structure(positive=self.positive)

    def project(self, tensor, drawn):
        """Changes the tensor in place, which departs from `drawn`, so that it has what this says."""
        with torch.no_grad():
            if self.integers:
                tensor.round_()
            for axis in self.equal:
                tensor.copy_(tensor.select(axis, 0).unsqueeze(axis).expand_as(tensor).clone())
            if self.symmetric:
                tensor.copy_(tensor.tril() + tensor.tril(-1).transpose(-1, -2))
            if self.fixed is not None:
                tensor.copy_(torch.where(self.fixed, self.values.to(tensor.dtype), tensor))
            for axis, descending in self.sorted.items():
                tensor.copy_(tensor.sort(dim=axis, descending=descending).values)
            self.rescale(tensor, drawn)

    def rescale(self, tensor, drawn):
        """What comes to no sum of its own stays as it was drawn."""
        for axis, wanted in self.norms.items():
            size = tensor.double().square().sum(axis, keepdim=True)
            tensor.copy_(torch.where(size > 0, tensor.double() * (wanted / size).sqrt(), drawn.double()))
        for axis, wanted in self.sums.items():
            if self.positive:
                size = tensor.double().abs().sum(axis, keepdim=True)
                tensor.copy_(torch.where(size > 0, tensor.double().abs() * (wanted / size), drawn.double()))
            else:
                off = tensor.double().sum(axis, keepdim=True) - wanted
                free = (~self.fixed).sum(axis, keepdim=True).clamp(min=1) if self.fixed is not None else tensor.shape[axis]
                change = off / free
                tensor.sub_(change if self.fixed is None else change.where(~self.fixed, 0))

    def words(self, name):
        """Clauses for people, in which the input is called so."""
        said = [zeros for zeros in [self.zeros()] if zeros]
        if self.fixed is not None and not said:
            said.append("is always the same" if bool(self.fixed.all()) else "has places whose value is always the same")
        said += [f"is equal along axis {axis}" for axis in self.equal]
        said += [f"{'falls' if descending else 'rises'} along axis {axis}" for axis, descending in self.sorted.items()]
        said += [f"sums to {wanted:.4g} along axis {axis}" for axis, wanted in self.sums.items()]
        said += [f"has squares that sum to {wanted:.4g} along axis {axis}" for axis, wanted in self.norms.items()]
        said += ["is symmetric"] if self.symmetric else []
        said += ["has few values"] if self.few else ["holds integers"] if self.integers else []
        said += [f"equals input {self.same_as}"] if self.same_as is not None else []
        return [f"{name} {one}" for one in said]

    def zeros(self):
        """Where zeros are that never change, if they have a name."""
        if self.fixed is None or not is_square(self.fixed) or bool(self.fixed.all()):
            return ""
        zero = (self.fixed & (self.values == 0)).flatten(0, -3).all(0) if self.fixed.dim() > 2 else self.fixed & (self.values == 0)
        if not bool(zero.any()):
            return ""
        rows, columns = (~zero).nonzero(as_tuple=True)
        off = columns - rows
        below, above = -off.min().item(), off.max().item()
        if below <= 0 and above <= 0:
            return "is diagonal"
        if below <= 0:
            return "is upper triangular"
        if above <= 0:
            return "is lower triangular"
        return "is banded" if below + above < zero.shape[-1] - 1 else ""


class Learner:
    """Looks at one input draw by draw."""

    def __init__(self, first):
        self.first, self.found = first, Structure()
        self.fixed = torch.ones_like(first, dtype=torch.bool)
        self.values, self.finite, self.count = set(), True, 0
        self.found.integers = self.found.positive = True
        self.found.symmetric = is_square(first)
        self.found.equal = axes(first)
        self.rising, self.falling = set(axes(first, 3)), set(axes(first, 3))
        self.sums = self.norms = None
        self.look(first)

    def look(self, tensor):
        self.count += 1
        found = self.found
        self.fixed &= (tensor == self.first) | (tensor.isnan() & self.first.isnan())
        self.finite = self.finite and all(bool(part.isfinite().all()) for part in slices(tensor))
        found.integers = found.integers and self.finite and all(bool((part == part.round()).all()) for part in slices(tensor))
        found.positive = found.positive and all(bool((part >= 0).all()) for part in slices(tensor))
        if self.values is not None:
            self.values |= set(tensor.flatten()[:1 << 16].unique()[:FEW + 1].tolist())
            self.values = self.values if len(self.values) <= FEW else None
        found.symmetric = found.symmetric and torch.equal(tensor, tensor.transpose(-1, -2))
        found.equal = [axis for axis in found.equal if bool((tensor == tensor.select(axis, 0).unsqueeze(axis)).all())]
        for axes_, step in ((self.rising, 1), (self.falling, -1)):
            for axis in list(axes_):
                if not bool((tensor.diff(dim=axis) * step >= 0).all()):
                    axes_.discard(axis)
        self.sums = self.still(self.sums, tensor, tensor.double().sum, tensor.double().abs().sum)
        square = tensor.double().square()
        self.norms = self.still(self.norms, tensor, square.sum, square.sum)

    def still(self, known, tensor, sum_of, size_of):
        """axis → the one sum that it has had in all draws."""
        left = {}
        for axis in axes(tensor, 2) if known is None else known:
            value = constant_of(sum_of(axis), size_of(axis)) if self.finite else None
            if value is not None and (known is None or abs(value - known[axis]) <= 10 * NEAR * max(abs(value), 1)):
                left[axis] = value
        return left

    def structure(self):
        found = self.found
        found.few = not self.finite or self.values is not None and (len(self.values) * 4 < self.first.numel() or found.integers)
        if found.few or self.is_permutation():
            found.few = True
        share = self.fixed.double().mean().item() if self.fixed.numel() else 0.0
        # Of numbers with few values some stay the same by chance.
        if share > 0 and (not found.integers or share > 0.05):
            found.fixed, found.values = self.fixed, self.first
        whole = share == 1.0
        found.equal = [] if whole else found.equal
        found.sorted = {} if whole else {**{axis: False for axis in self.rising}, **{axis: True for axis in self.falling - self.rising}}
        found.sorted = {axis: down for axis, down in found.sorted.items() if axis not in found.equal}
        found.sums = {} if whole or found.few else {axis: one for axis, one in self.sums.items() if axis not in found.equal}
        found.norms = {} if whole or found.few or found.sums else {axis: one for axis, one in self.norms.items() if axis not in found.equal}
        found.symmetric = found.symmetric and not whole
        return found

    def is_permutation(self):
        return self.found.integers and self.first.dim() > 0 and self.first.shape[-1] > 2 and bool(
            (self.first.sort(dim=-1).values.diff(dim=-1) == 1).all())


def learn(draw, device):
    """`draw(number)` gives a list of inputs. One Structure for each that is a tensor of floating point, and None for the others."""
    learners, count = None, DRAWS
    for number in range(DRAWS):
        inputs = draw(number)
        floats = [isinstance(one, torch.Tensor) and one.dtype.is_floating_point and one.numel() > 0 for one in inputs]
        if learners is None:
            bytes_ = sum(one.numel() * one.element_size() for one, is_float in zip(inputs, floats) if is_float)
            if bytes_ > 4 * MOST_BYTES[device]:
                return [Structure() if one else None for one in floats]
            count = DRAWS if bytes_ <= MOST_BYTES[device] else LEAST_DRAWS
            learners = [Learner(one.detach()) if is_float else None for one, is_float in zip(inputs, floats)]
            same = {(at, before) for at in range(len(inputs)) for before in range(at) if floats[at] and floats[before]}
        else:
            for learner, one in zip(learners, inputs):
                if learner is not None:
                    learner.look(one.detach())
        same = {(at, before) for at, before in same if inputs[at].shape == inputs[before].shape and torch.equal(inputs[at], inputs[before])}
        if number + 1 >= count:
            break
    found = [one and one.structure() for one in learners]
    for at, before in sorted(same, reverse=True):
        found[at].same_as = before
    return found
