"""NaN and infinity in inputs: where they may be drawn, and which outputs of them are defined. NaN comes only where a problem names it (draws.py).

They are drawn where each output depends on one element of an input alone, as with activations and sums of two tensors. Elsewhere an algorithm that
is right otherwise, as one by FFT or Winograd's, spreads them in its own way. NaN must come out where the reference has it of NaN. What it has of
infinity counts unless it is NaN, which depends on how a function is written: x · sigmoid(x) at minus infinity is one.
"""
import torch

MOST = 1 << 24  # elements of an input that the trial looks at

def same_outside(one, other, mask):
    """Whether two outputs agree outside the mask, bit by bit. False where they have no element for each of the mask's."""
    return one.shape == mask.shape and bool(((one == other) | (one.isnan() & other.isnan()) | mask).all())


def pointwise(run, inputs, others):
    """Numbers, among the floating inputs, of those that each output depends on element by element. `run` gives outputs, `others` are inputs of
    another draw."""
    found, base = set(), run(inputs)
    if not base or not all(one.dtype.is_floating_point for one in base):
        return found
    floats = [at for at, one in enumerate(inputs) if isinstance(one, torch.Tensor) and one.dtype.is_floating_point]
    for number, at in enumerate(floats):
        value = inputs[at]
        if any(one.shape != value.shape for one in base):
            continue
        generator = torch.Generator(device=value.device).manual_seed(at)
        mask = torch.rand(value.shape, generator=generator, device=value.device) < 0.5
        changed = [torch.where(mask, others[at], one) if other == at else one for other, one in enumerate(inputs)]
        if all(same_outside(one, again, mask) for one, again in zip(base, run(changed))):
            found.add(number)
    return found


def slices(inputs):
    """The first slices of inputs of a common size, so few that the trial takes no memory to speak of; or the inputs."""
    floats = [one for one in inputs if isinstance(one, torch.Tensor) and one.dtype.is_floating_point and one.dim()]
    if len({one.shape for one in floats}) != 1 or floats[0].numel() <= MOST or any(isinstance(one, torch.Tensor) and not one.is_floating_point()
                                                                                     for one in inputs):
        return inputs
    count = max(MOST * floats[0].shape[0] // floats[0].numel(), 1)
    return [one[:count].clone() if isinstance(one, torch.Tensor) and one.dim() else one for one in inputs]


def odd_places(inputs, shape):
    """(where some input is NaN, where one is infinite), of those that have the shape."""
    nan = infinite = None
    for one in inputs:
        if isinstance(one, torch.Tensor) and one.dtype.is_floating_point and one.shape == shape:
            nan = one.isnan() if nan is None else nan | one.isnan()
            infinite = one.isinf() if infinite is None else infinite | one.isinf()
    return nan, infinite


def undefined(reference, inputs):
    """Flat: places of an output at which any answer will do."""
    nan, infinite = odd_places(inputs, reference.shape)
    return (torch.where(nan, ~reference.isnan(), infinite & reference.isnan())).reshape(-1)


def agree(expected, inputs):
    """Whether an output is finite but for what is drawn, and the same in float64 where it is not. `expected` is compare.Expected."""
    reference, correction = expected.reference, expected.correction
    nan, infinite = (one.reshape(-1) for one in odd_places(inputs, expected.sizes))
    if not bool((reference.isfinite() | nan | infinite).all()):
        return False
    if correction is None:
        return True
    same = correction.isfinite() | reference.isnan() | (reference.isinf() & correction.isnan())
    return bool((same | undefined(reference.view(expected.sizes), inputs)).all())
