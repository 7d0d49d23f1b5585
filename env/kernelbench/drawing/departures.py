"""How a strict draw departs from get_inputs(): each kind changes one tensor in place.

A kind goes as far as `reach` says: 1 is the whole way, to 10^4 times the size and 1,024 deviations, and less where the reference cannot follow.
With `inside` it stays between the least and the largest that the plain draw has.
"""
import math
import random

import torch

SPIKES = 8
FARTHEST, FARTHEST_IN_FP16 = 10_000.0, 16.0  # times a tensor's own size; the squares of more are not in fp16's range
MOST_DEVIATIONS = 1024.0
EDGES = (0.0, -0.0, -0.0, 1.0, -1.0, 2.0**-20, -2.0**-20, 1e-40, -1e-40, 30.0, -30.0, 100.0, -100.0)
INFINITE, SPECIALS = (math.inf, -math.inf) * 2, (math.nan, math.inf, -math.inf) * 2
SAMPLE = 1 << 16  # elements that a deviation is taken of
FEW_ROWS = 8  # of fewer, all are structured alike
EVEN = ("spikes", "structure", "whole")  # may have rows whose elements are equal
MOST_SORTED = 1 << 24  # elements
RUN = 32  # elements at most
LEAST_BITS = 3  # of the precision, which an offset leaves to what it is added to


def powers(count, low, high, like, generator):
    exponents = torch.randint(low, high + 1, (count,), generator=generator, device=like.device)
    return torch.pow(2.0, exponents.to(torch.float32)).to(like.dtype)


def figures(tensor):
    """(least, largest, deviation), which waits for the device once."""
    sample = tensor.view(-1)[::max(tensor.numel() // SAMPLE, 1)].float()
    spread = sample.std(correction=0) if sample.numel() > 1 else sample.new_zeros(())
    return torch.stack([*(one.double() for one in torch.aminmax(tensor)), spread.double()]).tolist()


class Departure:
    """`common`: a generator that all tensors of a draw share the state of, for what they have in common."""

    def __init__(self, tensor, inside, seed, common=0, reach=1.0):
        self.tensor, self.inside, self.reach = tensor, inside, reach
        self.generator = torch.Generator(device=tensor.device).manual_seed(seed)
        self.chance, self.common = random.Random(seed), random.Random(common)
        self.low, self.high, self.deviation = figures(tensor)
        self.columns = tensor.shape[-1] if tensor.dim() else 1
        self.rows_ = max(tensor.numel() // max(self.columns, 1), 1)

    @property
    def size(self):
        return max(abs(self.low), abs(self.high)) or 1.0

    @property
    def farthest(self):
        return FARTHEST_IN_FP16 if self.tensor.dtype == torch.float16 else FARTHEST

    def far(self, most):
        """Between the eighth and the whole of `most`, or of its share by the reach."""
        return 2.0 ** (self.reach * math.log2(most) - self.chance.uniform(0, 3) * self.reach)

    def plain(self):
        pass

    def centred(self):
        """Of both signs, around zero. Within a range, turned round."""
        if self.inside:
            self.tensor.neg_().add_(self.low + self.high).clamp_(self.low, self.high)
        else:
            self.tensor.sub_((self.low + self.high) / 2)

    def magnitude(self):
        """All of it much larger, of either sign."""
        if not self.inside:
            self.tensor.mul_(self.chance.choice((-1, 1)) * 2.0 ** round(math.log2(self.far(self.farthest))))
        elif self.low <= 0 <= self.high or abs(self.low) < 1e-3 * self.high:
            self.tensor.mul_(2.0 ** -round(math.log2(self.far(self.farthest)))).clamp_(self.low, self.high)

    def offset(self):
        """The same added to all, to other tensors as well; it leaves some bits to what was there. Within a range, all are near one place."""
        if self.inside:
            middle = self.low + (self.high - self.low) * self.common.uniform(0.25, 0.75)
            self.tensor.sub_(middle).mul_(2.0**-8).add_(middle).clamp_(self.low, self.high)
            return
        bits = -math.log2(torch.finfo(self.tensor.dtype).eps) - LEAST_BITS
        far = 2.0 ** (self.reach * math.log2(min(MOST_DEVIATIONS, 2.0**bits)) - self.common.uniform(0, 2) * self.reach)
        self.tensor.add_(self.common.choice((-1, 1)) * far * (self.deviation or self.size))

    def sparse(self):
        """Few elements of each row are not zero, so that a sum has few terms and each term's error shows."""
        if self.inside and self.low != 0 and abs(self.low) > 1e-3 * abs(self.high):
            return
        share = min(0.5, self.chance.choice((2, 8)) / self.columns)
        for part in self.tensor.view(-1).split(1 << 26):
            part.mul_(torch.rand(part.shape, generator=self.generator, device=part.device) < share)

    def scales(self):
        """Each row and each column times its own power of two."""
        for shape, count in (((-1, 1), self.rows_), ((1, -1), self.columns)):
            if count > 1:
                scales = powers(count, -6, 0 if self.inside else 3, self.tensor, self.generator)
                self.tensor.view(self.rows_, self.columns).mul_(scales.view(shape))
        if self.inside:
            self.tensor.clamp_(self.low, self.high)

    def ends(self):
        """Crowded at the ends of the range, and edges."""
        low, width = self.low, self.high - self.low
        if width > 0 and (self.inside or self.low >= 0):
            at_high = self.chance.random() < 0.5
            unit = self.tensor.sub_(low).div_(width)
            if at_high:
                unit.neg_().add_(1).pow_(6).neg_().add_(1)
            else:
                unit.pow_(6)
            self.tensor.mul_(width).add_(low).clamp_(self.low, self.high)
        self.put([one for one in EDGES if not self.inside or self.low <= one <= self.high])

    def spikes(self):
        """A handful of elements stand out, also of a row, or of all, that is constant."""
        if self.rows_ < FEW_ROWS or self.chance.random() < 0.5:
            self.tensor.copy_(self.tensor.view(-1)[0].clone())
        self.exceptions(self.tensor, SPIKES, self.farthest)

    def structure(self):
        """Rows that are constant, zero, in order or made of runs, all but for a few elements."""
        rows = self.tensor.view(self.rows_, self.columns)
        kinds = [self.constant, self.zero, self.sorted_, self.runs]
        self.chance.shuffle(kinds)
        if self.rows_ < FEW_ROWS:
            return self.whole()
        parts = rows.tensor_split(len(kinds))
        for kind, part in zip(kinds, parts):
            kind(part)
            self.exceptions(part, self.chance.randint(2, SPIKES), 64.0)

    def whole(self):
        """All of it constant, zero, in order or made of runs, but for a few elements."""
        rows = self.tensor.view(self.rows_, self.columns)
        self.chance.choice([self.constant, self.zero, self.sorted_, self.runs])(rows)
        self.exceptions(rows, self.chance.randint(2, SPIKES), 64.0)

    def constant(self, rows):
        rows.copy_(rows[:, :1].clone())

    def zero(self, rows):
        if not self.inside or self.low <= 0 <= self.high:
            rows.zero_()

    def sorted_(self, rows):
        part = rows[:max(MOST_SORTED // max(self.columns, 1), 1)]
        part.copy_(part.sort(-1, descending=self.chance.random() < 0.5).values)

    def runs(self, rows):
        width = self.chance.randint(2, RUN)
        places = torch.arange(self.columns, device=rows.device) // width * width
        part = rows[:max(MOST_SORTED // max(self.columns, 1), 1)]
        part.copy_(part[:, places])

    def exceptions(self, part, count, most):
        """Elements of both signs, no two of them alike, at random places; in other rows where there are so many."""
        if part.numel() == 0:
            return
        if self.inside:
            self.put([self.chance.choice((self.low, self.high)) for _ in range(count)], part)
            return
        most = min(most, self.farthest) ** self.reach
        sizes = [2.0 ** self.chance.uniform(1, max(math.log2(most), 1)) for _ in range(count - 2)]
        sizes += [most * self.chance.uniform(0.9, 1) for _ in range(2)]
        largest = torch.finfo(self.tensor.dtype).max / 4
        self.put([min(self.size * one, largest) * (-1) ** at for at, one in enumerate(reversed(sizes))], part)

    def put(self, values, part=None):
        flat = (self.tensor if part is None else part).view(-1)
        values = values[:flat.numel()]
        if not values:
            return
        places = self.chance.sample(range(flat.numel()), len(values))
        index = torch.tensor(places, device=flat.device)
        flat[index] = torch.tensor(values, dtype=flat.dtype).to(flat.device)

    def specials(self):
        """Infinity and edges, in a quarter of the elements at most."""
        self.put([*INFINITE, *EDGES][:max(self.tensor.numel() // 4, 1)])

    def specials_with_nan(self):
        self.put([*SPECIALS, *EDGES][:max(self.tensor.numel() // 4, 1)])


def depart(tensor, form, inside, seed, common=0, reach=1.0):
    if form != "plain" and tensor.numel():
        getattr(Departure(tensor, inside, seed, common, reach), form)()


def make_alike(tensor, other, seed):
    """Makes the tensor a copy of another of its shape, but for a few elements."""
    chance, flat = random.Random(seed), tensor.view(-1)
    places = torch.tensor(chance.sample(range(flat.numel()), chance.randint(1, SPIKES // 2)), device=flat.device)
    kept = flat[places]
    tensor.copy_(other)
    flat[places] = kept


def are_alike(one, other):
    """Whether two tensors have the shape and the range of each other, roughly."""
    if one.shape != other.shape or one.dtype != other.dtype or one.numel() < 4 * SPIKES:
        return False
    (low, high, _), (least, most, _) = figures(one), figures(other)
    return max(abs(low - least), abs(high - most)) <= 0.25 * max(high - low, most - least)
