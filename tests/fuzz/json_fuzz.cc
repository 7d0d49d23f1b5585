// The tree that is read is nlohmann's, where there is one.

#include <nlohmann/json.hpp>

#include "base/input/json.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper {

FUZZ_TARGET(json) {
  nlohmann::json tree;
  const bool taken = fuzz::taken([&] { tree = parse_json(bytes, "x"); });
  const auto peer = nlohmann::json::parse(bytes, nullptr, false);
  TEMPER_CHECK(!taken || (!peer.is_discarded() && tree == peer));
  if (!taken) return;
  TEMPER_CHECK(shown(tree).size() < 400);
  whole_number(tree);
}

}  // namespace temper
