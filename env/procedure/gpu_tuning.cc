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
  shape_ = timed_number(0);
  at_shape_ = kNoTimedShape;  // what was found says where
  if (!found) verdict_.configuration = scrub(candidate.words(taken), kMaxConfigurationText);
  verdict_.check_ms += (now_s() - start) * 1e3;
  return found;
}

// Adds the slot's fastest configuration to those that are taken. What is found is why its first alternative fails, if
// none works.
Found GpuProcedure::choose_for(const Choice& choice, const OpenCandidate& candidate, Configurations& taken) {
  Found first;
  Configurations fastest;
  double least = 0;
  for (const Alternative& alternative : choice.alternatives) {
    Configurations tried = taken;
    tried[choice.slot] = alternative.configuration;
    double product = 0;
    if (Found failed = time_alone(candidate.timed_alone(tried), product)) {
      if (!first) first = failed;
    } else if (fastest.empty() || product < least) {
      fastest = tried;
      least = product;
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

// The product of the times of a call at each timed shape, of a candidate that has their plans alone: the least one has the
// largest geometric mean of speedups. The cache is cold. Outputs are not compared: those of the alternative that is chosen
// will be, call by call.
Found GpuProcedure::time_alone(const GpuCandidate& candidate, double& product) {
  const nanoseconds left = budget_, part = left / kBudgetParts;
  budget_ = part;
  product = 1;
  Found found = hand_over(candidate);
  for (size_t i = 0; i < task_.timed_count() && !found; ++i) {
    shape_ = timed_number(i);
    double us = 0;
    found = time_shape_alone(int32_t(i), us);
    if (found) tell_shape(*found, task_, shape_);
    product *= us;
  }
  budget_ = left - (part - budget_);
  return found;
}

// At shape_, by the plan of that number.
Found GpuProcedure::time_shape_alone(int32_t plan, double& us) {
  Draws draws(kTuningCalls);
  for (GpuDraw& draw : draws) draw = plain_draw();
  draws.resize(batch_of(task_, draws));
  GpuRunnerRequest request = calls_of(task_, draws);
  request.timed = 1;
  for (GpuCall& call : request.call) call.plan = plan;
  const Calls calls = call(draws, request);
  if (!calls.found) us = median_without_first(calls.us);
  return calls.found;
}

}  // namespace temper::env
