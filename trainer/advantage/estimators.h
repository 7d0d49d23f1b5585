#pragma once
// Each turns the returns of one pool into advantages: what is learned from a pool, whatever the pool is.

#include <span>
#include <vector>

#include "trainer/turn_values.h"

namespace temper {

std::vector<double> centre(std::span<const double> returns);
std::vector<double> normalise(std::span<const double> returns);
std::vector<double> leave_one_out(std::span<const double> returns);

// Kept stay turns with a positive return, all with the same advantage.
void keep_positive(TurnValues& values);

// The plan's advantages times α.
void weigh_plan(TurnValues& advantages, double alpha);

}  // namespace temper
