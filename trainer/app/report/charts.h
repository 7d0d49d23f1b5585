#pragma once
// Which metrics a report draws, and how.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "trainer/app/report/groups.h"

namespace temper::trainer {

// Lines over steps, one a group: [{section, title, help, unit, x, lines: [{group, x, y, low?, high?,
// raw_low?, raw_high?}]}]. Metrics that no run has are left out.
nlohmann::json line_charts(const std::vector<RunGroup>& groups);

// Parts of a whole over steps, one drawing a group:
// {parts: […], groups: [{group, x, values: [part][point]}]}.
nlohmann::json time_stacks(const std::vector<RunGroup>& groups);     // seconds of a step
nlohmann::json verdict_stacks(const std::vector<RunGroup>& groups);  // shares of judged answers

// Wall-clock seconds that the mean run of each group spent: {parts: […], groups: [{group, values: […]}]}.
nlohmann::json time_totals(const std::vector<RunGroup>& groups);

// Four significant digits: what a screen shows, and a third of the bytes.
double shortened(double value);

}  // namespace temper::trainer
