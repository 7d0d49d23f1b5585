// The first frame of a Triton candidate's reply; what follows a line "frame" is the next one.

#include "env/plan/triton/reply.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(triton_reply) {
  constexpr std::string_view kMark = "\nframe\n";
  std::vector<std::string> frames;
  for (std::string_view rest = bytes;;) {
    const size_t end = rest.find(kMark);
    frames.emplace_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + kMark.size());
  }
  const auto count = count_cubins(frames[0]);
  TEMPER_CHECK(!count || (*count >= 0 && *count <= int64_t(kMaxPlanCubins)));
  const TritonReply reply = read_triton_reply(frames, {{{{4096, 64}, {4096}}}, {}, 8192, 1000});
  TEMPER_CHECK(reply.compile_ms >= 0 && reply.plan_ms >= 0 && reply.compile_ms + reply.plan_ms <= 1000);
  if (reply.failure) {
    TEMPER_CHECK(reply.failure->kind != VerdictKind::kPass && reply.failure->kind != VerdictKind::kInfra &&
                 !reply.failure->reason.empty());
    verdict_of(*reply.failure);
    return;
  }
  if (!reply.infra.empty()) return;
  TEMPER_CHECK(reply.plans.size() == 1);
  for (const LaunchPlan& plan : reply.plans) plan_text(plan);
}

}  // namespace temper::env
