#pragma once
// Whether all ranks hold the same weights, to the bit. A call that one rank left out, a damaged memory or a
// fault of ours would otherwise be learned from and saved.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "policy/parameters/parameter_store.h"

namespace temper {

// Of all bits of `flat`, contiguous and a multiple of 8 bytes: in pieces of 2²⁰ words of 64 bits the sum of
// word · odd factor of its place, modulo 2⁶⁴, and these sums one behind the other. One flipped bit always
// changes it. Exact: the same on CPUs and GPUs.
uint64_t word_digest(const at::Tensor& flat);
uint64_t word_digest_by_tensors(const at::Tensor& flat);  // the same, as GPUs make it

// Compares digests of every unit's weights over the ranks, and of `reference`, flat like the weights, if it
// is not null; all call it. `what` says when. Errors: WorldError on the rank that is unlike the others,
// naming the unit; LostRanks on the others. Of two ranks it is rank 1.
void check_replicas(const ParameterStore& store, const char* what, const at::Tensor* reference = nullptr);

}  // namespace temper
