#pragma once
#include <CLI/CLI.hpp>

namespace temper::trainer {

// Seconds and bytes a second of each CUDA op, beside a copy in the same run.
void add_bench_kernels(CLI::App& bench, int& exit_code);

}  // namespace temper::trainer
