#pragma once

#include <CLI/CLI.hpp>

namespace temper::trainer {

// temper bench trajectories: bytes and time of a step's trajectories on the disk, beside JSON lines.
void add_bench_trajectories(CLI::App& bench, int& exit_code);

}  // namespace temper::trainer
