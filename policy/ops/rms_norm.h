#pragma once
// Root-mean-square normalisation.
// Source: Zhang & Sennrich, "Root Mean Square Layer Normalization" (NeurIPS 2019), eq. 4, with eps inside the
// root.

#include <cstdint>

namespace temper::cpu {

// y = x · rstd · w with rstd = 1 / sqrt(mean(x²) + eps).
// Shapes: x, y [rows, width] · w [width] · rstd [rows]
template <class T>
void rms_norm(const T* x, const T* w, double eps, int64_t rows, int64_t width, T* y, T* rstd);

// dx += rstd · (w·dy − x̂ · mean(w·dy·x̂)) and dw += Σ_rows dy·x̂, with x̂ = x · rstd.
template <class T>
void rms_norm_backward(const T* dy, const T* x, const T* w, const T* rstd, int64_t rows, int64_t width, T* dx,
                       T* dw);

// One row of each, for ops that fuse the norm.
template <class T>
T rms_norm_row(const T* x, const T* w, double eps, int64_t width, T* y);
template <class T>
void rms_norm_row_backward(const T* dy, const T* x, const T* w, T rstd, int64_t width, T* dx, T* dw);

}  // namespace temper::cpu
