"""Draws of other sizes than the problem's: dimensions of its inputs that may change together, as a batch or a length does, found by trial.

No dimension becomes larger, so that what is laid out for the problem's own sizes holds these as well.
"""
import collections
import random

import torch

LEAST = 3  # of a size that is cut by one, so that the trial tells more than what is broadcast


def groups(inputs):
    """[(size, ((input, axis), …))]: places of one size, all of them, those of the first axis, and those of others."""
    by_size, found = collections.defaultdict(list), []
    for at, one in enumerate(inputs):
        for axis, size in enumerate(one.shape if isinstance(one, torch.Tensor) else ()):
            by_size[size].append((at, axis))
    for size, places in by_size.items():
        parts = (places, [one for one in places if one[1] == 0], [one for one in places if one[1] != 0])
        for part in map(tuple, parts):
            if size >= LEAST and part and (size, part) not in found:
                found.append((size, part))
    return found


def cut(inputs, places, size):
    """With so many of the first slices there."""
    inputs = list(inputs)
    for at, axis in places:
        inputs[at] = inputs[at].narrow(axis, 0, size)
    return [one.contiguous() if isinstance(one, torch.Tensor) else one for one in inputs]


def allowed(inputs, follows, kept=()):
    """Those of groups() that may be cut. `follows(inputs)`: whether the reference does. `kept`: places at which what an input promises would be
    lost, as a sum along that axis."""
    return [(size, places) for size, places in groups(inputs)
            if not set(places) & set(kept) and follows(cut(inputs, places, size - 1))]


def promised(structures):
    """Places at which inputs promise something about all of an axis."""
    return {(at, axis) for at, one in enumerate(structures or ()) if one is not None for axis in (*one.sums, *one.norms)}


def chosen(free, seed):
    """(places, size) of one that may be cut, by the seed: one, one less than the problem's and an odd size, in the order in which to try them."""
    chance = random.Random(seed)
    if not free:
        return []
    size, places = chance.choice(free)
    several = [1, size - 1, chance.randrange(0, size - size % 2, 2) + 1]
    chance.shuffle(several)
    return [(places, one) for one in several]
