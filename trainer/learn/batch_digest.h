#pragma once
// Digests of what every rank holds whole and learns its part of. Ranks note them with their calls, and so
// hear of a bit that differs in one of them: what comes of it would be summed into the weights of all.
//
// Exact: one flipped bit always changes the digest.

#include <cstdint>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/algorithm/advantage.h"
#include "trainer/cold_start/learned_rows.h"

namespace temper {

uint64_t digest_of(const Batch& batch);  // its rows: ids, roles, log-probs
uint64_t digest_of(const TokenAdvantages& advantages);
uint64_t digest_of(const std::vector<LearnedRow>& rows);

}  // namespace temper
