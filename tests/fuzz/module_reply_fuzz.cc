// A frame of a module's process, read as each answer that it may be.

#include "env/kernelbench/module_reply.h"

#include "base/input/json.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {
FUZZ_TARGET(module_reply) {
  constexpr int64_t kTimes = 100;
  fuzz::taken([&] {
    const nlohmann::json json = parse_json_object(bytes, "the reply");
    fuzz::taken([&] { status_in(json); });
    fuzz::taken([&] {
      const Finding finding = finding_of(json, failure_in(json));
      TEMPER_CHECK(finding.kind != VerdictKind::kPass && finding.kind != VerdictKind::kInfra &&
                   finding.kind != VerdictKind::kHack && !finding.reason.empty());
      verdict_of(finding);
    });
    fuzz::taken([&] {
      for (const ModuleTensor& tensor : tensors_in(json, "outputs")) {
        TEMPER_CHECK(module_bytes(tensor) >= 0);
        tensor_text(tensor);
        laid_as(tensor, tensor);
      }
    });
    fuzz::taken([&] { TEMPER_CHECK(times_in(json, "times_ms", kTimes).size() <= size_t(kTimes)); });
    fuzz::taken([&] { facts_in(json); });
    fuzz::taken([&] { comparison_in(json); });
    fuzz::taken([&] { profile_in(json); });
  });
}

}  // namespace temper::env
