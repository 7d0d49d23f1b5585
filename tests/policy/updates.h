#pragma once
// Updates of a store's parameters.

#include "policy/parameters/flat.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/part_updates.h"

namespace temper::policy {

inline const AdamWFactors& update_factors(const ParameterInfo&) {
  static constexpr AdamWFactors kFactors = {.gradient_scale = 1,
                                            .keep = 0.99,
                                            .beta1 = 0.9,
                                            .beta2 = 0.999,
                                            .step = 1e-2,
                                            .root_correction = 1,
                                            .epsilon = 1e-8};
  return kFactors;
}

// With gradients that depend on the update's number.
inline void update(ParameterStore& store, int number, int64_t piece = kUpdatePiece) {
  fill_normal(store.gradients(), uint64_t(number), 1);
  update_parts(store, store.parts(), update_factors, piece);
}

}  // namespace temper::policy
