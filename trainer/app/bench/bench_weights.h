#pragma once

#include <CLI/CLI.hpp>

namespace temper::trainer {

// temper bench weights: seconds, GB/s and host memory of a Hugging Face directory's weights in, and of a
// checkpoint out.
void add_bench_weights(CLI::App& bench, int& exit_code);

}  // namespace temper::trainer
