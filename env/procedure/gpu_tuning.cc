// How a GPU candidate that tunes itself gets its configurations: the judge times what it offers, as its own tuner would.

#include <fmt/format.h>

#include <algorithm>

#include "env/procedure/gpu_procedure.h"
#include "env/procedure/open_candidate.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kTuningCalls = 6;  // of each alternative; the first one warms up
constexpr int kBudgetParts = 4;     // an alternative may take this part of the time that is left
constexpr size_t kMaxConfigurationText = 256;

double median_without_first(std::vector<double> us) {
  if (us.size() > 1) us.erase(us.begin());
  const auto middle = us.begin() + std::ssize(us) / 2;
  std::nth_element(us.begin(), middle, us.end());
  return *middle;
}

}  // namespace

// One slot after another, while the others have what was chosen for them, or their first alternative. An alternative
// that fails is left out. A slot none of whose alternatives works is tried once more at the end, because the fault may
// have been another slot's first alternative.
Found GpuProcedure::choose(const OpenCandidate& candidate) {
  const double start = now_s();
  if (processes_.idle) warm_up();
  Configurations taken;
  Found found;
  std::vector<const Choice*> left = candidate.slots();
  for (int round = 0; round < 2 && !left.empty(); ++round) {
    found.reset();
    std::erase_if(left, [&](const Choice* choice) {
      const Found failed = choose_for(*choice, candidate, taken);
      if (failed && !found) found = failed;
      return !failed;
    });
  }
  chosen_ = candidate.chosen(taken);
  if (!found) verdict_.configuration = scrub(candidate.words(taken), kMaxConfigurationText);
  verdict_.check_ms += (now_s() - start) * 1e3;
  return found;
}

// Adds the slot's fastest configuration to those that are taken. What is found is why its first alternative fails, if
// none works.
Found GpuProcedure::choose_for(const Choice& choice, const OpenCandidate& candidate, Configurations& taken) {
  Found first;
  Configurations fastest;
  double least_us = 0;
  for (const Alternative& alternative : choice.alternatives) {
    Configurations tried = taken;
    tried[choice.slot] = alternative.configuration;
    double us = 0;
    if (Found failed = time_alone(candidate.timed_alone(tried), us)) {
      if (!first) first = failed;
    } else if (fastest.empty() || us < least_us) {
      fastest = tried;
      least_us = us;
    }
  }
  if (fastest.empty()) {
    first->details = fmt::format(
        "when its configurations were timed, in a call at the timed sizes, before all checks: the first of "
        "{} "
        "fails like this, and none works\n",
        choice.alternatives.size());
    return first;
  }
  taken = fastest;
  return std::nullopt;
}

// The time of a call of a candidate that has the timed shape's plan alone, with a cold cache. Its outputs are not
// compared: those of the alternative that is chosen will be, call by call.
Found GpuProcedure::time_alone(const GpuCandidate& candidate, double& us) {
  const nanoseconds left = budget_, part = left / kBudgetParts;
  budget_ = part;
  Found found = hand_over(candidate);
  if (!found) {
    Draws draws(kTuningCalls);
    for (GpuDraw& draw : draws) draw = plain_draw();
    draws.resize(batch_of(task_, draws));
    GpuRunnerRequest request = calls_of(task_, draws);
    request.timed = 1;
    for (GpuCall& call : request.call) call.plan = 0;
    const Calls calls = call(draws, request);
    found = calls.found;
    if (!found) us = median_without_first(calls.us);
  }
  budget_ = left - (part - budget_);
  return found;
}

}  // namespace temper::env
