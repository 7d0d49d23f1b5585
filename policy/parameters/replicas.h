#pragma once
// Checks that all ranks hold the same weights, to the bit. Otherwise the effects of a call that one rank left out, of
// damaged memory or of a bug would be learned from and saved.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "policy/parameters/parameter_store.h"

namespace temper::policy {

// A digest of all bits of `flat`, which is contiguous and a multiple of 8 bytes. For pieces of 2²⁰ words of 64 bits
// the sum of word · odd factor of its place is computed modulo 2⁶⁴, and these sums are digested in order. One
// flipped bit always changes the digest. Exact: the same on CPUs and GPUs.
uint64_t word_digest(const at::Tensor& flat);
uint64_t word_digest_by_tensors(const at::Tensor& flat);  // word_digest, computed in the way used on GPUs

// Compares digests of every unit's weights over the ranks, and of `reference`, if it is not null; all call it. What is
// sharded (ParameterStore::copy_for_learning) is compared over the replicas of each share. `what` says when. Errors:
// WorldError on the rank that is unlike the others, naming the unit; LostRanks on the others. Of two ranks it is rank
// 1.
void check_replicas(const ParameterStore& store, const char* what, const at::Tensor* reference = nullptr);

}  // namespace temper::policy
