#pragma once
// An update of a store's parameters, with gradients that depend on its number.

#include "policy/parameters/flat.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/part_updates.h"

namespace temper::policy {

inline void update(ParameterStore& store, int number, int64_t piece = PartUpdates::kPiece) {
  constexpr AdamWFactors kFactors = {.gradient_scale = 0.5,
                                     .keep = 0.99,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .step = 1e-2,
                                     .root_correction = 1,
                                     .epsilon = 1e-8};
  fill_normal(store.gradients(), uint64_t(number), 1);
  PartUpdates updates(store, piece);
  for (const ParameterPart& p : store.parts()) updates.adamw(p, kFactors);
  updates.finish();
}

}  // namespace temper::policy
