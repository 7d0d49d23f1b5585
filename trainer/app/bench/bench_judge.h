#pragma once
#include <CLI/CLI.hpp>

namespace temper::trainer {

// Verdicts per second on fresh candidates, their latency, and what the judge holds on to.
void add_bench_judge(CLI::App& bench, int& exit_code);

}  // namespace temper::trainer
