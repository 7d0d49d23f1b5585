#pragma once
// A run in progress, in the terminal.

#include <filesystem>
#include <string>

#include "trainer/app/report/run_record.h"

namespace temper::trainer {

// The text that `temper report --watch` shows: the last steps, the course of the main metrics, where the time goes, and
// when the run will end. `idle_s` is the time since the run last wrote a step.
std::string watch_text(const RunRecord& run, double idle_s);

// Shows it again every two seconds until the run has ended or Ctrl-C; once where standard output is no
// terminal. Returns the exit code. Errors: ConfigError where `dir` is no run.
int watch_run(const std::filesystem::path& dir);

}  // namespace temper::trainer
