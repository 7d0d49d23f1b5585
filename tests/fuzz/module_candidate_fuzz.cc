// A module's candidate on its way to a GPU.

#include "env/kernelbench/module_candidate.h"

#include "base/error.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(module_candidate) {
  const std::string text(bytes);
  backend_of(text);
  const auto candidate = module_candidate_from(text);
  if (candidate) TEMPER_CHECK_EQ(to_bytes(*candidate) == text, true);
}

}  // namespace temper::env
