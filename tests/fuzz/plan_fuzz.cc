// A plan that is taken is written back as it was, and can be asked about.

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
}

}  // namespace temper::env
