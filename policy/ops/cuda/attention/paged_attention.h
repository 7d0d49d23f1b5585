#pragma once
// Attention of single rows over pages of keys and values on a GPU, with the arithmetic of cuDNN's packed
// forward to the last rounding: what a token attends to while sampling has the bits that training computes.

#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {

// out[r] over keys 0 … positions[r] of row r's sequence, zeros where positions[r] < 0. bf16, heads of 64
// or 128, at most 8 query heads per key head. The contents of a page after its sequence's last token do not matter.
// Async:  with pages.row null, only each row's own token may be written by the previous kernel on the stream:
//         earlier keys are fetched while that kernel is still ending.
// Shapes: qk [rows, (H+K)·hd], queries first · positions [rows] · out [rows, H·hd]
// Source: the order of cuDNN 9.19's forward on Hopper, found by measurement, the same for both widths: key blocks of
//         128 in rising order; S adds 16 dimensions at a time; x = (S·hd^-½)·log₂e, each product rounded; p = 2^(x − m), m the running maximum; sums kept per lane
//         of the accumulator and added across lanes at the end.
void paged_attention(const AttentionShape& shape, const void* qk, const int32_t* positions, int64_t rows,
                     const Pages& pages, void* out, cudaStream_t stream);

// Writes the keys of qk and the values of qkv to the pages, as tokens `positions` of their sequences. Rows with a
// negative position are not written.
// Shapes: qk [rows, (H+K)·hd] · v: the last K·hd columns of qkv [rows, (H+2K)·hd] · positions [rows]
void write_pages(const AttentionShape& shape, const void* qk, const void* qkv, const int32_t* positions,
                 int64_t rows, const Pages& pages, cudaStream_t stream);

}  // namespace temper::policy::cuda
