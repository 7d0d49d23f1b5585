#pragma once
// The cells of a sweep, one after another or side by side, each a process of its own.
//
//   DIR/CELL/            the cell's run directory
//   DIR/starts/CELL/     the cold starts that cells share
//   DIR/configs/         each cell's whole config
//   DIR/log/             the output of each cell
//   DIR/state.json       which cells are done, and how long they took
//   DIR/sweep.md, sweep.csv, report.html

#include <nlohmann/json.hpp>

#include "trainer/app/sweep/sweep.h"
#include "trainer/app/sweep/sweep_table.h"

namespace temper::trainer {

struct SweepOptions {
  std::string again;     // the command line that resumes this sweep
  int64_t parallel = 0;  // cells at a time; 0 for one per GPU, or one without GPUs
};

// Runs what is not done yet, then writes the tables and the report. A cell that fails stops no other. Returns
// the exit code: 0, 1 where a cell failed, 130 where it was interrupted: running cells are then asked to save
// and waited for. Errors, before anything is begun: ConfigError where the directory holds cells with other
// options, or is no sweep's, or another process runs a sweep in it, or `parallel` is more than the machine
// has.
int run_sweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace temper::trainer
