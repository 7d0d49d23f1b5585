#pragma once
// Root-mean-square normalisation.
// Source: Zhang & Sennrich, "Root Mean Square Layer Normalization" (NeurIPS 2019), eq. 4, with eps inside the
// root.

#include <cstdint>

namespace temper::policy::cpu {

// y = x · rstd · w with rstd = 1 / sqrt(mean(x²) + eps).
// Shapes: x, y [rows, width] · w [width] · rstd [rows]
template <class T>
void rms_norm(const T* x, const T* w, double eps, int64_t rows, int64_t width, T* y, T* rstd);

// dx = residual + rstd · (w·dy − x̂ · mean(w·dy·x̂)) and dw_blocks = Σ dy·x̂ over each kRowBlock rows, with x̂ =
// x · rstd. Shapes: residual, dx [rows, width], dx may be residual · dw_blocks [⌈rows / kRowBlock⌉, width]
template <class T>
void rms_norm_backward(const T* dy, const T* x, const T* w, const T* rstd, int64_t rows, int64_t width,
                       const T* residual, T* dx, T* dw_blocks);

// dw [width] += Σ of `blocks` rows of dw_blocks [blocks, stride], in order: the same bits for any number of
// threads.
template <class T>
void add_blocks(const T* dw_blocks, int64_t blocks, int64_t stride, int64_t width, T* dw);

// One row of each, for ops that fuse the norm.
template <class T>
T rms_norm_row(const T* x, const T* w, double eps, int64_t width, T* y);
template <class T>
void rms_norm_row_backward(const T* dy, const T* x, const T* w, T rstd, int64_t width, T* dx, T* dw);

}  // namespace temper::policy::cpu
