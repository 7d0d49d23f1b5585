#include "env/verdict.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace temper {
namespace {

TEST(Verdict, EveryKindHasItsOwnNameAndComesBack) {
  std::set<std::string> names;
  for (int kind = 0; kind <= int(VerdictKind::kInfra); ++kind) {
    const std::string name = to_string(VerdictKind(kind));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(verdict_kind_from(name), VerdictKind(kind));
  }
  EXPECT_THROW(verdict_kind_from("PASSED"), ConfigError);
}

TEST(Verdict, JsonKeepsEveryField) {
  Verdict verdict;
  verdict.kind = VerdictKind::kHack;
  verdict.reason = "floor";
  verdict.message = "HACK \"floor\"\n";
  double value = 1;
  for (double* field : {&verdict.candidate_us, &verdict.baseline_us, &verdict.speedup, &verdict.speedup_low,
                        &verdict.speedup_high, &verdict.floor_us, &verdict.profile_share, &verdict.compile_ms,
                        &verdict.run_ms, &verdict.total_ms}) {
    *field = value *= 1.7;
  }
  verdict.pairs = 21;
  verdict.cached = true;
  const nlohmann::json json = verdict;
  const auto back = nlohmann::json::parse(json.dump()).get<Verdict>();
  EXPECT_EQ(nlohmann::json(back), json);
  EXPECT_EQ(back.total_ms, verdict.total_ms);
  EXPECT_EQ(back.pairs, 21);
  EXPECT_TRUE(back.cached && back.hack() && !back.pass() && !back.infra());
}

}  // namespace
}  // namespace temper
