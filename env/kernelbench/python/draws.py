"""Inputs of the strict calls: the problem's own get_inputs() under a secret seed, its random functions on the device, and in some draws a
departure from its distribution. Were inputs always alike, a policy could learn kernels that are right for that distribution alone.

A departure changes only what get_inputs() gave as floating point, and keeps what it draws from a range within the range where the problem
names a loss or an index, which may be undefined beyond. It keeps what independent draws cannot give (structure.py). A draw at which the
reference is not finite is drawn again without departure. Kinds of departures come by turns, each once before one comes twice, so that what
one kind alone shows is seen in every verdict.
"""
import hashlib
import random
import re
import sys

import torch

import structure

FORMS = ("plain", "centred", "spikes", "offset", "sparse", "rows", "columns", "ends", "edges")
UNTIED = ("plain", "rows", "offset")  # make no equal elements, which would leave open what an argmax is
DEFINED_WITHIN = re.compile(r"(?i)cross_?entropy|bce|nll|kl_?div|bernoulli|multinomial|embedding|index|gather|scatter|one_hot")
SPIKES = 8
EDGES = (0.0, -0.0, 1.0, -1.0, 2.0**-20, -2.0**-20, 30.0, -30.0, 100.0, -100.0)
STRUCTURE = "structure"  # the key of the draws that it is learned from


def seed_of(key, trial):
    return int.from_bytes(hashlib.sha256(f"{key}:{trial}".encode()).digest()[:8], "little") >> 1


def seed_all(seed):
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def own_inputs(problem, seed):
    """get_inputs() with its random functions on the device; on the host where that fails, as where a generator is given."""
    if problem.device != "cpu":
        try:
            with torch.device(problem.device):
                seed_all(seed)
                return problem.module.get_inputs()
        except (RuntimeError, TypeError, ValueError):
            pass
    seed_all(seed)
    return problem.module.get_inputs()


def choose_form(key, trial, integer_outputs):
    """The first draw is centred: many problems draw from positive numbers alone. The others follow in an order of the key's."""
    forms = list(UNTIED if integer_outputs else FORMS)
    if trial == 0 and not integer_outputs:
        return "centred"
    turn, at = divmod(trial, len(forms))
    random.Random(seed_of(key, f"turn {turn}")).shuffle(forms)
    if turn == 0 and not integer_outputs:
        forms = ["centred", *(one for one in forms if one != "centred")]
    return forms[at]


def learn(problem):
    """A Structure for each input, or nothing where it cannot be told."""
    try:
        return structure.learn(lambda number: own_inputs(problem, seed_of(STRUCTURE, number)), problem.device)
    except Exception:
        return None


def powers(count, low, high, like, generator):
    exponents = torch.randint(low, high + 1, (count,), generator=generator, device=like.device)
    return torch.pow(2.0, exponents.to(torch.float32)).to(like.dtype)


class Departure:
    """Changes one tensor in place. `inside`: it stays between the least and the largest that the plain draw has."""

    def __init__(self, tensor, inside, seed):
        self.tensor, self.inside = tensor, inside
        self.generator = torch.Generator(device=tensor.device).manual_seed(seed)
        self.chance = random.Random(seed)
        self.low, self.high = (one.item() for one in torch.aminmax(tensor))
        self.columns = tensor.shape[-1] if tensor.dim() else 1

    def positive(self):
        return self.low >= 0

    def plain(self):
        pass

    def centred(self):
        """Of both signs, around zero."""
        if not self.inside:
            self.tensor.sub_((self.low + self.high) / 2)

    def places(self, count):
        return [self.chance.randrange(self.tensor.numel()) for _ in range(count)]

    def put(self, values):
        flat = self.tensor.view(-1)
        places = torch.tensor(self.places(len(values)), device=flat.device)
        flat[places] = torch.tensor(values, device=flat.device).to(flat.dtype)

    def spikes(self):
        """A handful of elements stand out."""
        size = max(abs(self.low), abs(self.high))
        if self.inside:
            self.put([self.high if self.chance.random() < 0.5 else self.low for _ in range(SPIKES)])
        else:
            self.put([size * 2.0**self.chance.randint(1, 4) * self.chance.choice((-1, 1)) for _ in range(SPIKES)])

    def offset(self):
        """The same added to all."""
        if not self.inside:
            self.tensor.add_((self.high - self.low) * self.chance.choice((-1, -0.5, 0.5, 1)))

    def sparse(self):
        """Few elements of each row are not zero, so that a sum has few terms and each term's error shows."""
        if self.inside and self.low != 0 and abs(self.low) > 1e-3 * abs(self.high):
            return
        share = min(0.5, self.chance.choice((2, 8)) / self.columns)
        for part in self.tensor.view(-1).split(1 << 26):
            part.mul_(torch.rand(part.shape, generator=self.generator, device=part.device) < share)

    def rows(self):
        """Each row times its own power of two."""
        count = max(self.tensor.numel() // max(self.columns, 1), 1)
        scales = powers(count, -6, 0 if self.inside else 3, self.tensor, self.generator)
        self.tensor.view(count, -1).mul_(scales[:, None])

    def columns_(self):
        """Each column times its own power of two."""
        scales = powers(self.columns, -6, 0 if self.inside else 3, self.tensor, self.generator)
        self.tensor.view(-1, self.columns).mul_(scales)

    def ends(self):
        """Crowded at the ends of the range."""
        low, width = self.low, self.high - self.low
        if width <= 0 or not self.inside and not self.positive():
            return
        at_high = self.chance.random() < 0.5
        unit = self.tensor.sub_(low).div_(width)
        if at_high:
            unit.neg_().add_(1).pow_(6).neg_().add_(1)
        else:
            unit.pow_(6)
        self.tensor.mul_(width).add_(low).clamp_(self.low, self.high)

    def edges(self):
        """Zeros of both signs, ones, tiny and large elements among the others."""
        values = [one for one in EDGES if not self.inside or self.low <= one <= self.high]
        if values:
            self.put(values)


def depart(tensor, form, inside, seed):
    if form == "plain" or tensor.numel() == 0:
        return
    departure = Departure(tensor, inside, seed)
    getattr(departure, "columns_" if form == "columns" else form)()


def strict_inputs(problem, key, trial, integers, integer_outputs, plain=False, structures=None):
    """(inputs as the module takes them, form). `integers`: as Problem.cast; `structures`: of each input, as learn() gives them."""
    seed = seed_of(key, trial)
    raw = own_inputs(problem, seed)
    chance = random.Random(seed ^ 1)
    form = "plain" if plain else choose_form(key, trial, integer_outputs)
    inside = DEFINED_WITHIN.search(problem.source) is not None
    structures = structures if structures and len(structures) == len(raw) else [None] * len(raw)
    floats = [isinstance(one, torch.Tensor) and one.dtype.is_floating_point for one in raw]
    alone = chance.choice([at for at, one in enumerate(floats) if one] or [0]) if chance.random() < 0.5 else None
    inputs = []
    for at, one in enumerate(raw):
        value = problem.cast(one, integers)
        if isinstance(value, torch.Tensor):
            value = fresh(value)
            if floats[at] and alone in (None, at):
                value = departed(value, form, inside, chance.getrandbits(62), structures[at])
            if structures[at] is not None and structures[at].same_as is not None:
                value = inputs[structures[at].same_as].clone()
        inputs.append(value)
        raw[at] = None  # frees what was cast
    return inputs, form


def departed(value, form, inside, seed, known):
    """The input, which has changed in place unless it is one that stays."""
    if known is not None and known.kept or form == "plain":
        return value
    drawn = value.clone() if known is not None and known.any else None
    depart(value, form, inside or known is not None and known.integers, seed)
    if drawn is not None:
        known.project(value, drawn)
    return value


def fresh(tensor):
    """Contiguous memory of its own."""
    tensor = tensor.detach()
    return tensor if tensor.is_contiguous() else tensor.contiguous()
