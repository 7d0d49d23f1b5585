#include "policy/hugging_face/weight_index.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::policy {

FUZZ_TARGET(weight_index) {
  fuzz::taken([&] {
    for (const auto& [tensor, file] : parse_weight_index(bytes, "index").files)
      TEMPER_CHECK(!file.empty() && file != ".." && file.find('/') == std::string::npos);
  });
}

}  // namespace temper::policy
