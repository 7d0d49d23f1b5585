#pragma once
// AdamW over flat buffers.
// Source: Loshchilov and Hutter, 1711.05101, algorithm 2, with the decay multiplied by the learning rate as
// in torch.

#include <cstdint>

namespace temper::policy {

// The factors of one update. They are the same for every element, except `keep`.
struct AdamWFactors {
  double gradient_scale;  // from clipping the gradient's norm
  double keep;            // 1 − lr · weight_decay
  double beta1, beta2;
  double step;             // lr / (1 − beta1^n)
  double root_correction;  // 1 / √(1 − beta2^n)
  double epsilon;
};

}  // namespace temper::policy

namespace temper::policy::cpu {

// Moves weights and moments; the gradients end as zeros. All [size].
template <class T>
void adamw(T* weights, T* gradients, T* moment1, T* moment2, int64_t size, const AdamWFactors& factors);

// Σ x² in f64. Exact: independent of the number of threads.
template <class T>
double squared_norm(const T* values, int64_t size);

}  // namespace temper::policy::cpu
