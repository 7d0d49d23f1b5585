# problem: level1/10_max_pool.py
# backend: triton
# strict: PASS
# comparable: correct
# why: right, in Triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x, y, height, width, out_height, out_width, KERNEL: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr,
                BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = at // out_width * STRIDE - PADDING, at % out_width * STRIDE - PADDING
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for i in tl.static_range(KERNEL):
        for j in tl.static_range(KERNEL):
            inside = (row + i >= 0) & (row + i < height) & (column + j >= 0) & (column + j < width) & (at < out_height * out_width)
            value = tl.load(x + (plane * height + row + i) * width + column + j, mask=inside, other=float("-inf"))
            best = tl.maximum(best, value, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y + plane * out_height * out_width + at, best, mask=at < out_height * out_width)


class ModelNew(nn.Module):
    def __init__(self, kernel, stride, padding):
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def forward(self, x):
        batch, channels, height, width = x.shape
        out_height = (height + 2 * self.padding - self.kernel) // self.stride + 1
        out_width = (width + 2 * self.padding - self.kernel) // self.stride + 1
        y = torch.empty(batch, channels, out_height, out_width, dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(out_height * out_width, 1024), batch * channels)
        pool_kernel[grid](x, y, height, width, out_height, out_width, KERNEL=self.kernel, STRIDE=self.stride, PADDING=self.padding, BLOCK=1024)
        return y
