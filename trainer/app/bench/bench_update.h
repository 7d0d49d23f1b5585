#pragma once

#include <CLI/CLI.hpp>

namespace temper::trainer {

void add_bench_update(CLI::App& bench, int& exit_code);

}  // namespace temper::trainer
