"""What a network's outputs are where its convolutions are Winograd's in f32, or by Fourier transforms, to tell how far a right answer may be off.

Their products and sums are f32's, but of transformed numbers. That loses some bits, a tenth of what TF32 loses, and spreads the errors of
large elements to those around them.

Source: Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", 2015; the transposed Toom-Cook form, section 4.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

OUT, TAPS = 6, 3  # outputs of a tile and size of a kernel along an axis
SIZE = OUT + TAPS - 1
POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)  # and infinity


def matrices(like):
    """(of tiles [SIZE, SIZE], of kernels [SIZE, TAPS], of outputs [OUT, SIZE])."""
    points = torch.tensor(POINTS, dtype=torch.float64)

    def values(columns):
        """Polynomials of so many coefficients at the points."""
        last = torch.zeros(1, columns, dtype=torch.float64)
        last[0, -1] = 1
        return torch.cat([points[:, None] ** torch.arange(columns), last])
    made = torch.linalg.inv(values(SIZE)).t(), values(TAPS), values(OUT).t()
    return [one.to(like.device, like.dtype) for one in made]


def transformed(tensor, matrix, axis):
    return torch.tensordot(tensor, matrix, dims=([axis], [1])).movedim(-1, axis)


def can(inputs, weight, stride, is_transposed):
    return inputs.dtype == torch.float32 and not is_transposed and inputs.dim() == weight.dim() and {*stride} == {1}


def has_tiles(weight, dilation):
    return {*dilation} == {1} and TAPS in weight.shape[2:] and {*weight.shape[2:]} <= {1, TAPS}


def by_fourier(inputs, weight, bias, padding, dilation, groups):
    """A convolution of unit stride."""
    axes = list(range(2, weight.dim()))
    padded = torch.nn.functional.pad(inputs, [one for pad in reversed(padding) for one in (pad, pad)])
    reach = [(size - 1) * step + 1 for size, step in zip(weight.shape[2:], dilation)]
    kernels = weight.new_zeros([*weight.shape[:2], *reach])
    kernels[tuple([slice(None)] * 2 + [slice(None, None, step) for step in dilation])] = weight
    sizes = padded.shape[2:]
    left, right = (torch.fft.rfftn(one, s=sizes, dim=axes) for one in (kernels, padded))
    images, outs, places = inputs.shape[0], weight.shape[0], right.shape[2:]
    left = left.conj().reshape(groups, outs // groups, weight.shape[1], -1).permute(3, 0, 1, 2).flatten(0, 1)
    right = right.reshape(images, groups, weight.shape[1], -1).permute(3, 1, 2, 0).flatten(0, 1)
    product = torch.bmm(left, right).view(-1, outs, images).permute(2, 1, 0).reshape(images, outs, *places)
    result = torch.fft.irfftn(product, s=sizes, dim=axes)
    result = result[tuple([slice(None)] * 2 + [slice(size - one + 1) for size, one in zip(sizes, reach)])]
    return result if bias is None else result + bias.view(-1, *[1] * len(axes))


def convolution(inputs, weight, bias, padding, groups):
    """Of unit stride, whose kernel has TAPS or one along each axis."""
    of_tiles, of_kernels, of_outputs = matrices(inputs)
    axes = [axis for axis in range(2, weight.dim()) if weight.shape[axis] == TAPS]
    sizes = [size + 2 * pad - kernel + 1 for size, pad, kernel in zip(inputs.shape[2:], padding, weight.shape[2:])]
    pads = []
    for axis in range(weight.dim() - 1, 1, -1):
        more = -sizes[axis - 2] % OUT if axis in axes else 0
        pads += [padding[axis - 2], padding[axis - 2] + more]
    tiles = torch.nn.functional.pad(inputs, pads)
    for axis in axes:
        tiles = tiles.unfold(axis, SIZE, OUT)
    for number in range(len(axes)):
        tiles = transformed(tiles, of_tiles, weight.dim() + number)
    kernels = weight
    for axis in axes:
        kernels = transformed(kernels, of_kernels, axis)
    images, outs, positions, places = inputs.shape[0], weight.shape[0], SIZE ** len(axes), tiles.shape[2:weight.dim()]
    left = kernels.reshape(groups, outs // groups, weight.shape[1], positions).permute(3, 0, 1, 2).flatten(0, 1)
    right = tiles.reshape(images, groups, weight.shape[1], -1, positions).permute(4, 1, 2, 0, 3)
    product = torch.bmm(left, right.reshape(positions * groups, weight.shape[1], -1))
    product = product.view(positions, outs, images, -1).permute(2, 1, 3, 0).reshape(images, outs, *places, *[SIZE] * len(axes))
    for number in range(len(axes)):
        product = transformed(product, of_outputs, weight.dim() + number)
    for number, axis in reversed(list(enumerate(axes))):
        product = product.movedim(weight.dim() + number, axis + 1).flatten(axis, axis + 1)
    result = product[tuple([slice(None)] * 2 + [slice(size) for size in sizes])]
    return result if bias is None else result + bias.view(-1, *[1] * len(sizes))


class Convolutions(TorchDispatchMode):
    """Has all that can be computed so be computed so. `count`: how many were."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.convolution.default and can(args[0], args[1], args[3], args[6]):
            inputs, weight, bias, _, padding, dilation, _, _, groups = args
            self.count += 1
            padding, dilation = (list(one) if len(one) == weight.dim() - 2 else list(one) * (weight.dim() - 2) for one in (padding, dilation))
            if has_tiles(weight, dilation):
                return convolution(inputs, weight, bias, padding, groups)
            return by_fourier(inputs, weight, bias, padding, dilation, groups)
        return function(*args, **(kwargs or {}))


def outputs_by(run):
    """run()'s outputs where it convolves so; None where it has no such convolution."""
    with Convolutions() as convolutions:
        outputs = run()
    return outputs if convolutions.count else None
