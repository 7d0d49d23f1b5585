#pragma once
// Cold-start traces: conversations written by a grammar of implementation choices and typical defects. Each answer
// is judged for real, except those of traces/unjudged.h. Held-out tasks never appear.
//
// The grammar (traces/) reads a task's reference and writes kernels for it: slow and fast ones, right ones, and ones
// with the mistakes that are typical for the reference. A task whose reference it cannot read has no traces, but can
// still be learned by reinforcement.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/judge/judge.h"
#include "policy/ranks/communicator.h"

namespace temper::traces {

struct TraceOptions {
  int64_t conversations = 2000;
  int64_t generated = 100;   // more tasks, varied from the train tasks, used in traces only
  int64_t unjudged = 0;      // yet more of them, with right answers that nobody judges
  double habit_rate = 0.65;  // first answers with the habitual mistakes, where a task invites any
  double slip_rate = 0.15;   // first answers with a single other mistake
  double slow_rate = 0.7;    // right answers written the slow way
  double persist_rate =
      0.6;  // habitual mistakes that survive the first attempt at a repair, loops rewritten instead
  double improve_rate = 0.3;  // right answers followed by a fast one; a fast one by itself
  double other_rate = 0;      // fast answers in another way than the commonest fast one
  void visit(OptionVisitor& v);
};

// An answer of a trace with the verdict it got.
struct TraceTurn {
  std::string answer;  // plan and code block
  env::Verdict verdict;
};

// A mistake, its real feedback, the repair, sometimes a vain attempt between them; or a right answer and a
// fast one, which is the same if it was fast already; or one right answer.
struct Trace {
  std::string task;
  std::vector<TraceTurn> turns;
};

// The given tasks, followed by variations of the train tasks among them, which are named gen_N, have the split
// "traces", and are used for traces only. None of them equals a given task, including the held-out ones. The judge of
// make_traces must be made with this list.
std::vector<env::Task> with_trace_tasks(const TraceOptions& options, std::vector<env::Task> tasks,
                                        uint64_t seed);

// Traces for all tasks of the judge except the held-out ones. Each distinct answer that a trace needs is judged once;
// `progress(judged, all)` counts them. Deterministic in the seed except for decisions that depend on measured times.
// A trace is dropped if a right answer in it does not pass, a mistake passes, or an interrupt left an answer
// unjudged. Ranks judge a part each, and all return the same traces.
std::vector<Trace> make_traces(const TraceOptions& options, env::Judge& judge, uint64_t seed,
                               const std::function<void(int64_t, int64_t)>& progress = {},
                               policy::Communicator& ranks = policy::alone());

}  // namespace temper::traces
