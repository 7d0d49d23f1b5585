"""Outputs against what is expected, tile by tile, so that no comparison needs memory of the outputs' size.

The comparable verdict is KernelBench's torch.allclose. The strict one allows an element

    4 · max(e, 2 · E) + floor · (|t| + T)

where t is the reference in float64, T the mean of |t|, e how far the reference in its own precision is off at that element, and E the mean
of |e|. The largest of 2^30 errors that are as large as the reference's, but independent, is about 6.2 of their deviations, 7.8 of their
means. The floor is for another order of additions and for functions that are right but for a few units in the last place; TF32 instead of
f32 is off by 2^-12 and more. Where a draw leaves nothing of the outputs, as the far side of a GELU, T is a share of what it is otherwise.

Errors are not alike where some inputs are much larger than others, and e may be small by chance where they are large. So what lies outside
may besides be off by twice as far as t moves when the inputs are rounded once more, by the largest of a few patterns of signs. In f32 it may
also be off by four times the largest error of a reference whose convolutions are Winograd's or by Fourier transforms (winograd.py). Where
terms are equal they are rounded alike, so that a sum of n of them one after another is off by up to n units: the floor is no less there.

On a draw without departure an answer that KernelBench's tolerance refuses is wrong, too, unless 4 · max(e, 2 · E), in sixteen bits with the
floor, is more than it is off: there the reference's own error or rounding is larger than that tolerance, and what is judged says so.

Whatever that allows, only a thousandth of the elements may be off by more than (|t| + T) / 8 and by more than the reference is. Of normal errors
of mean E a thousandth are larger than 4.1 · E. Where 6 · E, which leaves room for others, is more than T / 8, right answers would be refused or
wrong ones pass: the draw is chaotic.
"""
import dataclasses
import math
from dataclasses import dataclass

import torch

TILE = 1 << 23  # elements; what is computed of one mostly stays in a GPU's cache
SAMPLE = 1 << 22  # elements that a mean is taken of
TIMES, SMOOTHING = 4.0, 2.0
MOST_SHARE = 2.0**-3  # of the outputs' scale that an element may be off
MOST_OFF = MOST_SHARE / 6  # of the outputs' scale that the reference may be off in the mean
LEAST_SCALE = 2.0**-4  # of the scale that the output has otherwise
PATTERNS, MOVEMENTS = 8, 2.0
BY_CHANCE = 1e-3  # the share of an output that further patterns may explain after the first
FLOORS = {torch.float64: 2.0**-16, torch.float32: 2.0**-16, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
UNIT = 2.0**-24  # of f32, in which sums are at least
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass
class Expected:
    """One output: the reference in its own precision, and what is to be added to get to float64. Both are flat."""
    reference: torch.Tensor
    sizes: tuple
    correction: torch.Tensor = None  # f32; None for integers, and where there is no float64
    scale: float = 0.0  # T
    error: float = 0.0  # E
    worst: float = 0.0  # the largest that E is the mean of
    floor: float = 0.0
    moved: torch.Tensor = None  # how far t moves, where somebody has asked
    free: torch.Tensor = None  # places at which any answer will do


def finite_mean(tensor):
    """The mean of |x| over what is finite, of a sample where there are many."""
    values = tensor[::tensor.numel() // SAMPLE | 1].double().abs()
    finite = values.isfinite()
    return (values.where(finite, 0).sum() / finite.sum().clamp(min=1)).item() if values.numel() else 0.0


def expected_of(reference, truth, dtype, usual=0.0, terms=1):
    """From an output in the problem's precision `dtype` and the same in float64, or None. `usual` is the scale that it has otherwise, `terms`
    how many equal ones its sums may have."""
    flat = reference.detach().contiguous().view(-1)
    expected = Expected(flat, tuple(reference.shape))
    if not flat.dtype.is_floating_point:
        return expected
    expected.floor = max(FLOORS[flat.dtype], FLOORS[dtype], terms * UNIT)
    expected.scale = max(finite_mean(flat), LEAST_SCALE * usual)
    if truth is not None:
        exact = truth.detach().contiguous().view(-1)
        expected.correction = torch.empty(flat.shape, dtype=torch.float32, device=flat.device)
        for into, near, far in zip(expected.correction.split(TILE), flat.split(TILE), exact.split(TILE)):
            into.copy_(far.double() - near.double())
            expected.worst = max(expected.worst, into.abs().nan_to_num_(0.0, 0.0, 0.0).amax().item())
        expected.error = finite_mean(expected.correction)
    return expected


def share_off(expecteds):
    """How far the reference is off in float64, as a share of the outputs' scale: the largest of the means."""
    return max((one.error / one.scale for one in expecteds if one.scale > 0), default=0.0)


def chaotic(expecteds):
    return share_off(expecteds) > MOST_OFF


def tiles(expected, got):
    """(where, got, reference) of each tile."""
    flat = got.view(-1)
    for at in range(0, flat.numel(), TILE):
        here = slice(at, at + TILE)
        yield here, flat[here], expected.reference[here]


def strictly_wrong(expected, got, reference, here, exactly, times=TIMES):
    """Which elements of a tile are out of bounds. Unless `exactly`, also those that are right in not being finite."""
    if not reference.dtype.is_floating_point:
        return got != reference
    wide = torch.float64 if reference.dtype == torch.float64 else torch.float32
    near, value = reference.to(wide), got.to(wide)
    off, allowed = value - near, near.abs().mul_(expected.floor).add_(expected.floor * expected.scale)
    if expected.correction is not None:
        correction = expected.correction[here]
        off.sub_(correction)
        allowed.add_(correction.abs().mul_(times).clamp_(min=times * SMOOTHING * expected.error))
    if expected.moved is not None:
        allowed.add_(expected.moved[here], alpha=MOVEMENTS)
    wrong = ~(off.abs_() <= allowed)
    if expected.free is not None:
        wrong &= ~expected.free[here]
    if exactly:
        wrong &= ~(~near.isfinite() & ((value == near) | (value.isnan() & near.isnan())))
    return wrong


def far_off(expected, got, reference, here, exactly):
    """Which elements of a tile are off by more than a share of the outputs' scale, and by more than the reference is."""
    if expected.correction is None:
        return torch.zeros_like(got, dtype=torch.bool)
    capped = dataclasses.replace(expected, moved=None, floor=max(MOST_SHARE, expected.floor), error=0.0)
    return strictly_wrong(capped, got, reference, here, exactly, times=1.0)


def beyond_kernelbench(tolerance):
    """What says which elements of a tile KernelBench refuses although the reference's own error is not that large."""
    def wrong_of(expected, got, reference, here, exactly):
        wrong = comparably_wrong(expected, got, reference, tolerance)
        if expected.correction is None:
            return wrong
        own = dataclasses.replace(expected, moved=None, floor=0.0 if got.element_size() > 2 else expected.floor)
        return wrong & strictly_wrong(own, got, reference, here, exactly)
    return wrong_of


def comparably_wrong(expected, got, reference, tolerance):
    if reference.dtype == torch.bool:
        return got != reference
    return ~torch.isclose(reference, got, atol=tolerance, rtol=tolerance)


def unwritten(got):
    """What still holds the poison: every bit is set."""
    return got.view(INTEGERS[got.element_size()]) == -1 if got.dtype != torch.bool else torch.zeros_like(got)


def place_text(flat, sizes):
    places = []
    for size in reversed(sizes):
        flat, at = divmod(flat, size)
        places.append(str(at))
    return f"[{','.join(reversed(places))}]" if places else ""


def number_text(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Judged:
    """What a comparison found. Differences are those of wrong outputs, as KernelBench notes them."""

    def __init__(self):
        self.right, self.reason, self.message, self.share, self.note = True, "", "", 0.0, ""
        self.max_difference, self.avg_difference = [], []

    def wire(self):
        return {"right": self.right, "reason": self.reason, "message": self.message, "note": self.note,
                "max_difference": self.max_difference, "avg_difference": self.avg_difference}

    def wrong(self, reason, message):
        if self.right:
            self.right, self.reason, self.message = False, reason, message


def finite_or_none(value):
    return value if math.isfinite(value) else None


def count(expected, got, wrong_of, exactly):
    counts = [wrong_of(expected, mine, reference, here, exactly).sum() for here, mine, reference in tiles(expected, got)]
    return torch.stack(counts).sum().item() if counts else 0


def differences(expected, got):
    """The largest and the mean of |got − expected|."""
    largest, total = [], []
    for _, mine, reference in tiles(expected, got):
        difference = (mine.double() - reference.double()).abs()
        largest.append(difference.amax())
        total.append(difference.sum())
    return torch.stack(largest).amax().item(), torch.stack(total).sum().item() / got.numel()


def judge(expecteds, gots, wrong_of):
    """`wrong_of(expected, got, reference, here, exactly)` says which elements of a tile are wrong."""
    judged = Judged()
    for number, (expected, got) in enumerate(zip(expecteds, gots)):
        wrong = count(expected, got, wrong_of, False) and count(expected, got, wrong_of, True)
        if wrong:
            largest, mean = differences(expected, got)
            judged.max_difference.append(finite_or_none(largest))
            judged.avg_difference.append(finite_or_none(mean))
            judged.share = max(judged.share, wrong / got.numel())
            judged.wrong(*describe(expected, got, wrong_of, wrong, "y" if len(expecteds) == 1 else f"output {number} "))
    return judged


def describe(expected, got, wrong_of, all_wrong, name):
    """Reason and message: the first wrong element."""
    for here, mine, reference in tiles(expected, got):
        wrong = wrong_of(expected, mine, reference, here, True)
        if not wrong.any():
            continue
        first = wrong.int().argmax().item()
        value, wanted = mine[first].item(), reference[first].item()
        others = f"{all_wrong} of {got.numel()} wrong"
        place = name + place_text(here.start + first, expected.sizes)
        if unwritten(mine)[first].item():
            return "unwritten", f"{place} is not written; {others}"
        reason = "nan" if isinstance(value, float) and math.isnan(value) else "tolerance"
        return reason, f"{place} is {number_text(value)}, not {number_text(wanted)}; {others}"
    return "tolerance", f"{all_wrong} of {got.numel()} wrong"


def widened(expected, moved):
    """With how far an output in float64 has moved, or as it was where there is nothing to compare."""
    if expected.correction is None or moved is None:
        return expected
    by = torch.empty_like(expected.correction)
    for into, near, correction, far in zip(*(one.split(TILE) for one in (by, expected.reference, expected.correction, moved))):
        into.copy_((far.double() - near.double() - correction).abs_())
    by.nan_to_num_(0.0, 0.0, 0.0)
    return dataclasses.replace(expected, moved=by if expected.moved is None else torch.maximum(expected.moved, by))


def with_error_of(expected, other):
    """With how far another output is off, flat, which a right answer may be, too: at most, since large elements may spread their errors to others
    than here."""
    largest = [(far.double() - near.double() - correction).abs_().nan_to_num_(0.0, 0.0, 0.0).amax() for near, correction, far in
               zip(*(one.split(TILE) for one in (expected.reference, expected.correction, other)))]
    most = torch.stack(largest).amax().item() if largest else 0.0
    return dataclasses.replace(expected, moved=torch.full_like(expected.correction, most * TIMES / MOVEMENTS))


def judge_strictly(expecteds, gots, moved_by=None, others=None, tolerance=None):
    """`moved_by(pattern)` gives the outputs in float64, flat, of inputs that are rounded once more, or None for each. `others()` gives outputs by
    arithmetic of the same precision that loses more, flat, or None. `tolerance`: KernelBench's, on a draw without departure."""
    judged = judge(expecteds, gots, strictly_wrong)
    if judged.reason == "tolerance" and judge(expecteds, gots, far_off).share > BY_CHANCE:
        return judged  # whatever else is computed
    all_doubles = all(one.correction is not None for one in expecteds)
    if others and judged.reason == "tolerance" and all_doubles and (less := others()):
        expecteds = [with_error_of(*both) for both in zip(expecteds, less)]
        judged = judge(expecteds, gots, strictly_wrong)
    for pattern in range(PATTERNS if moved_by else 0):
        if judged.reason != "tolerance" or pattern and judged.share > BY_CHANCE:
            break
        expecteds = [widened(*both) for both in zip(expecteds, moved_by(pattern))]
        judged = judge(expecteds, gots, strictly_wrong)
    if judged.right and any(one.moved is not None or TIMES * one.worst > MOST_SHARE * one.scale / 2 for one in expecteds):
        far = judge(expecteds, gots, far_off)
        judged = far if far.share > BY_CHANCE else judged
    return within_kernelbench(expecteds, gots, judged, tolerance) if judged.right and tolerance else judged


def within_kernelbench(expecteds, gots, judged, tolerance):
    """What is strictly right, as KernelBench's tolerance has it."""
    if judge_comparably(expecteds, gots, tolerance).right:
        return judged
    beyond = judge(expecteds, gots, beyond_kernelbench(tolerance))
    if beyond.right:
        judged.note = (f"not within KernelBench's {tolerance:g} on this draw; the reference's own error and rounding in this precision are larger "
                       f"there, by float64 {share_off(expecteds):.1g} of the outputs' mean size in the mean")
    return judged if beyond.right else beyond


def judge_comparably(expecteds, gots, tolerance):
    """As torch.allclose(expected, got, atol=tolerance, rtol=tolerance)."""
    return judge(expecteds, gots, lambda expected, got, reference, *_: comparably_wrong(expected, got, reference, tolerance))
