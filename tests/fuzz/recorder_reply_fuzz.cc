// A recorder's reply and, behind it, its arena.

#include <cstring>

#include "env/plan/recorder_reply.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(recorder_reply) {
  RecorderReply reply;
  std::memcpy(&reply, bytes.data(), std::min(bytes.size(), sizeof reply));
  const std::string_view arena = bytes.substr(std::min(bytes.size(), sizeof reply));
  const Finding failure = failure_of(reply);
  TEMPER_CHECK(failure.kind != VerdictKind::kPass && failure.kind != VerdictKind::kInfra &&
               !failure.reason.empty());
  to_string(failure.kind);
  Cubin cubin;
  cubin.kernels.resize(1);
  cubin.kernels[0].name = "_k";
  cubin.kernels[0].parameters = {{0, 8}, {8, 8}};
  LaunchPlan plan;
  if (!plan_of(reply, arena, {{{4096, 64}, {4096}}, cubin, {}, 8192}, plan)) plan_text(plan);
}

}  // namespace temper::env
