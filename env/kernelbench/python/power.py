"""Whether a problem can tell a solution from none: answers that compute nothing must be found wrong."""
import torch

DRAWS = 10  # at most, which are of all kinds
MORE_DRAWS = 8  # without departures, where something passes the first ones
KEY = "power"  # its draws are no candidate's


def mean_of(tensor):
    return tensor.double().mean() if tensor.numel() else torch.zeros(())


def filled(expected, value):
    if not expected.reference.dtype.is_floating_point:
        value = value.round() if bool(torch.as_tensor(value).isfinite()) else 0
    return torch.full_like(expected.reference, float(value))


def copied(expected, inputs):
    """The first input of as many elements, or None."""
    for one in inputs:
        if isinstance(one, torch.Tensor) and one.numel() == expected.reference.numel():
            return one.contiguous().view(-1).to(expected.reference.dtype)
    return None


def answers(expecteds, inputs, others):
    """(name, outputs or None) of each. `others` is what another draw expects."""
    tensors = [one for one in inputs if isinstance(one, torch.Tensor)]
    mean = mean_of(tensors[0]) if tensors else torch.zeros(())
    yield "zeros", lambda: [torch.zeros_like(one.reference) for one in expecteds]
    yield "copy", lambda: [copied(one, inputs) for one in expecteds]
    yield "mean", lambda: [filled(one, mean) for one in expecteds]
    yield "constant", lambda: [filled(one, mean_of(other.reference)) for one, other in zip(expecteds, others)]
    yield "stale", lambda: [other.reference for other in others]


def passing(cases, judge):
    """Names of the answers that are right in each case. A case: (expected outputs, inputs, expected outputs of another draw)."""
    left = None
    for expecteds, inputs, others in cases:
        right = set()
        for name, outputs in answers(expecteds, inputs, others):
            if left is not None and name not in left:
                continue
            made = outputs()
            if all(one is not None for one in made) and judge(expecteds, made).right:
                right.add(name)
        left = right
    return sorted(left or ())
