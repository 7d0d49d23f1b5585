// A plan that is taken is written back as it was, can be asked about, and is a plan whatever is chosen.

#include "env/plan/plan.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(plan) {
  LaunchPlan plan;
  if (!parse_plan(bytes, plan).empty()) return;
  TEMPER_CHECK(serialize(plan) == bytes);
  plan_text(plan);
  check_plan(plan, {{4096, 64}, {4096}});
  check_plan(plan, {});
  for (const Configurations& configurations : {Configurations{}, Configurations{{0, 1}, {2, 0}, {7, 1}}}) {
    const LaunchPlan chosen = resolve(plan, configurations);
    LaunchPlan again;
    TEMPER_CHECK(chosen.choices.empty());
    TEMPER_CHECK(parse_plan(serialize(chosen), again).empty() && again == chosen);
  }
}

}  // namespace temper::env
