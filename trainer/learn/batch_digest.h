#pragma once
// Digests of data that every rank holds in full and learns a part of. Ranks note them with their collective calls
// (Communicator::note), so that a bit that differs on one rank is noticed before it changes the weights of all.
//
// Exact: one flipped bit always changes the digest.

#include <cstdint>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/algorithm/advantage.h"
#include "trainer/cold_start/learned_rows.h"

namespace temper::trainer {

uint64_t digest_of(const rollout::Batch& batch);  // its rows: ids, roles, log-probs
uint64_t digest_of(const TokenAdvantages& advantages);
uint64_t digest_of(const std::vector<LearnedRow>& rows);

}  // namespace temper::trainer
