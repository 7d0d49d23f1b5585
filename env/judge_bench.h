#pragma once
// How fast a judge is: what `temper bench judge` prints.

#include <cstdint>
#include <string>

#include "env/judge.h"

namespace temper {

struct JudgeBench {
  int64_t verdicts = 0, passed = 0, infra = 0;
  double seconds = 0;                 // from the first submit to the last verdict
  double p50_ms = 0, p95_ms = 0;      // of one verdict in its lane, without the queue
  double compile_ms = 0, run_ms = 0;  // means; what total_ms has beside them is waiting for a core
  double per_s() const { return double(verdicts) / seconds; }
};

// Judges `count` variants of `source` that no cache knows, all submitted at once.
JudgeBench bench_judge(Judge& judge, const std::string& task, const std::string& source, int64_t count);

}  // namespace temper
