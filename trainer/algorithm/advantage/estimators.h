#pragma once
// Each turns the returns of one pool into advantages: what is learned from a pool, whatever the pool is.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/algorithm/turn_values.h"

namespace temper::trainer {

std::vector<double> centre(std::span<const double> returns);
std::vector<double> normalise(std::span<const double> returns);
std::vector<double> leave_one_out(std::span<const double> returns);

// Values of which each stands for `counts` equal ones.
std::vector<double> whiten(std::span<const double> values, std::span<const int64_t> counts);

// Kept stay turns with a positive reward, all with the same advantage.
void keep_positive(TurnValues& rewards);

// Multiplies the plan's advantages by α, for turns that have code, or for all turns if `tokens` is empty.
void weigh_plan(const BatchTokens& tokens, double alpha, TurnValues& advantages);

}  // namespace temper::trainer
