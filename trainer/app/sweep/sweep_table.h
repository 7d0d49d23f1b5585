#pragma once
// The results of a sweep: a table for people, a table for programs, and a report.

#include <string>
#include <vector>

#include "trainer/app/report/groups.h"

namespace temper::trainer {

// One cell as it ended.
struct CellResult {
  std::string name, variant, state;  // state: finished, failed, not run
  int64_t seed = 0;
  double seconds = 0;
  std::vector<std::string> last_words;  // the last lines of output of a failed cell
};

// One row a variant: held-out answers before → after, mean ± standard deviation over its finished seeds.
// Markdown, aligned so that a terminal shows it too. runs[i] is what cell i left, null where there is
// nothing.
std::string sweep_table(const std::vector<CellResult>& cells, const std::vector<const RunRecord*>& runs);

// One line a cell: name, variant, seed, state, seconds, steps, then every val/* before and after.
std::string sweep_csv(const std::vector<CellResult>& cells, const std::vector<const RunRecord*>& runs);

// The failed cells with the last lines of their output; empty if none failed.
std::string failures_text(const std::vector<CellResult>& cells);

}  // namespace temper::trainer
