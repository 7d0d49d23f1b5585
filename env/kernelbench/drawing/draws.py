"""Inputs of the strict calls: the problem's own get_inputs() under a secret seed, its random functions on the device, and in most draws a
departure from its distribution (departures.py). Were inputs always alike, a policy could learn kernels that are right for that distribution
alone.

A departure changes only what get_inputs() gave as floating point. It keeps what independent draws cannot give (structure.py), and the range
where the problem names a loss or an index, which may be undefined beyond. Kinds of departures come by turns, each once before one comes
twice, so that what one kind alone shows is seen in every verdict. Strict.made says what becomes of a draw that the reference cannot follow.
"""
import hashlib
import random
import re
import sys

import torch

import structure
from departures import EVEN, are_alike, depart, make_alike  # noqa: F401

FORMS = ("centred", "magnitude", "offset", "sparse", "scales", "ends", "spikes", "structure", "specials", "plain")
UNTIED = ("plain", "scales", "magnitude")  # make no equal elements, which would leave open what an argmax is
IN_TURN = ("magnitude", "scales", "spikes", "sparse")  # of several inputs each has another of these, so that one is large where another is not
COMMON = 0  # in place of an input's number, for the seed of what inputs have in common
DEFINED_WITHIN = re.compile(r"(?i)cross_?entropy|bce|nll|kl_?div|bernoulli|multinomial|embedding|index|gather|scatter|one_hot|bucketize|"
                            r"\.(long|int)\(\)|\.to\(torch\.(long|int)")
NAN = re.compile(r"(?i)(\b|_)(is)?nan(\b|_)|isfinite")
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
    turn, at = divmod(trial, len(forms))
    random.Random(seed_of(key, f"turn {turn}")).shuffle(forms)
    if turn == 0 and not integer_outputs:
        forms = ["centred", *(one for one in forms if one != "centred")]
    return forms[at]


def form_of_input(form, number, integer_outputs):
    """What the input of this number departs by in a draw of the form."""
    if form not in IN_TURN or integer_outputs:
        return form
    return IN_TURN[(IN_TURN.index(form) + number) % len(IN_TURN)]


def learn(problem):
    """A Structure for each input, or nothing where it cannot be told."""
    try:
        return structure.learn(lambda number: own_inputs(problem, seed_of(STRUCTURE, number)), problem.device)
    except Exception:
        return None


def is_float(value):
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


class Way:
    """How far draws depart. `inside`: inputs keep their range. `special`: numbers of the inputs that may hold infinity, and NaN as well where
    the problem names it."""

    def __init__(self, reach=1.0, inside=False, special=()):
        self.reach, self.inside, self.special = reach, inside, special


def strict_inputs(problem, key, trial, integers, integer_outputs, plain=False, structures=None, way=Way()):
    """(inputs as the module takes them, form). `integers`: as Problem.cast; `structures`: of each input, as learn() gives them."""
    seed = seed_of(key, trial)
    raw = own_inputs(problem, seed)
    form = "plain" if plain else choose_form(key, trial, integer_outputs)
    form = "whole" if form == "specials" and not way.special else form
    inside = way.inside or bounded(problem)
    nan = "_with_nan" if form == "specials" and names_nan(problem) else ""
    structures = structures if structures and len(structures) == len(raw) else [None] * len(raw)
    inputs, changed, number = [], [], 0
    for at, one in enumerate(raw):
        floats, known, value = is_float(one), structures[at], problem.cast(one, integers)
        if isinstance(value, torch.Tensor):
            value = fresh(value)
            own_seed = seed_of(seed, at + 1)
            if floats and known is not None and known.same_as is not None:
                value = inputs[known.same_as].clone()
            elif floats and (form != "specials" or number in way.special):
                value = departed(value, form_of_input(form, number, integer_outputs) + nan, inside, own_seed, known, seed_of(seed, COMMON), way.reach)
                changed += [at] if known is None or not known.any else []
            number += floats
        inputs.append(value)
        raw[at] = None  # frees what was cast
    if form in ("ends", "whole"):
        copy_one(inputs, changed, seed)
    return inputs, form


def names_nan(problem):
    """Whether a problem says something of NaN. Where it does not, published answers that are right lose it, as `fmaxf(x, 0)` does."""
    return NAN.search(problem.source) is not None


def bounded(problem):
    """Whether inputs keep the range that get_inputs() has."""
    return DEFINED_WITHIN.search(problem.source) is not None


def copy_one(inputs, free, seed):
    """Makes one input a copy of another, but for a few elements, where two are alike."""
    pairs = [(at, other) for at in free for other in free if at != other and are_alike(inputs[at], inputs[other])]
    if pairs:
        at, other = random.Random(seed).choice(pairs)
        make_alike(inputs[at], inputs[other], seed_of(seed, "alike"))


def departed(value, form, inside, seed, known, common=0, reach=1.0):
    """The input, which has changed in place unless it is one that stays."""
    if known is not None and known.kept or form == "plain":
        return value
    if known is None or not known.any:
        depart(value, form, inside, seed, common, reach)
    elif not form.startswith("specials"):
        drawn = value.clone()
        depart(value, form, inside or known.integers, seed, common, reach)
        known.project(value, drawn)
    return value


def fresh(tensor):
    """Contiguous memory of its own."""
    tensor = tensor.detach()
    return tensor if tensor.is_contiguous() else tensor.contiguous()
