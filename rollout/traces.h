#pragma once
// Cold-start traces: conversations written by a grammar of implementation choices and typical defects, each answer
// judged for real. Held-out tasks never appear.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/judge.h"

namespace temper {

struct TraceOptions {
  int64_t conversations = 2000;
  double defect_rate = 0.5;  // first answers that carry a defect
  double slow_rate = 0.7;    // correct answers written the slow way
  void visit(OptionVisitor& v);
};

// An answer of a trace with the verdict it got.
struct TraceTurn {
  std::string answer;  // plan and code block
  Verdict verdict;
};

struct Trace {
  std::string task;
  std::vector<TraceTurn> turns;  // a defect, the real feedback, the repair; or one right answer
};

// Deterministic in the seed but for what timing decides. A repair that does not pass is dropped with its trace.
std::vector<Trace> make_traces(const TraceOptions& options, Judge& judge, uint64_t seed,
                               const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace temper
