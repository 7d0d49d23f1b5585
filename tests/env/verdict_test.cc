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
                        &verdict.run_ms, &verdict.total_ms, &verdict.plan_ms, &verdict.check_ms,
                        &verdict.time_ms, &verdict.noise}) {
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
  EXPECT_FALSE(back.naive || back.profile || back.audited || back.speedup_compiled);
  verdict.gpu = "NVIDIA H200";
  verdict.speedup_compiled = 0.9;
  const auto compared = nlohmann::json(verdict).get<Verdict>();
  EXPECT_EQ(compared.gpu, "NVIDIA H200");
  EXPECT_EQ(compared.speedup_compiled, 0.9);
  verdict.audited = true;
  verdict.profile =
      Profile{{{"sum", 2, 13.1, 0.92}, {"(copy)", 1, 1.1, 0.08}}, 14.2, 2e12, 3e9, 0.45, "memory"};
  const auto profiled = nlohmann::json(verdict).get<Verdict>();
  ASSERT_TRUE(profiled.audited && profiled.profile);
  EXPECT_EQ(nlohmann::json(profiled), nlohmann::json(verdict));
  EXPECT_EQ(profiled.profile->kernels[1].name, "(copy)");
  verdict.naive = {.pass = true, .speedup = 4.5, .binding = true};
  const auto fooled = nlohmann::json(verdict).get<Verdict>();
  ASSERT_TRUE(fooled.naive);
  EXPECT_TRUE(fooled.naive->pass && fooled.naive->binding);
  EXPECT_EQ(fooled.naive->speedup, 4.5);
}

TEST(Verdict, JsonKeepsDetailsAndBoundsThem) {
  Verdict verdict;
  EXPECT_FALSE(nlohmann::json(verdict).contains("details"));
  verdict.details = "FAIL_COMPILE does not compile\nline 7: \"error\"";
  EXPECT_EQ(nlohmann::json::parse(nlohmann::json(verdict).dump()).get<Verdict>().details, verdict.details);
  verdict.details.assign(1 << 20, 'x');
  EXPECT_EQ(nlohmann::json(verdict).get<Verdict>().details.size(), kMaxDetailsBytes);
}

TEST(Verdict, TellsTheNaiveOneOnlyWhereItBinds) {
  Verdict verdict;
  verdict.kind = VerdictKind::kFailIncorrect;
  verdict.message = "FAIL_INCORRECT y[0] is unwritten";
  verdict.details = "FAIL_INCORRECT an output is wrong";
  verdict.naive = {.pass = true, .speedup = 4.5};
  EXPECT_TRUE(verdict.hack() && verdict.raw_pass());
  EXPECT_EQ(verdict.raw_speedup(), 4.5);
  EXPECT_EQ(told(verdict).message, verdict.message);
  verdict.naive->binding = true;
  EXPECT_TRUE(told(verdict).pass());
  EXPECT_EQ(told(verdict).speedup_low, 4.5);
  EXPECT_EQ(told(verdict).message, "PASS speedup 4.50");
  EXPECT_EQ(told(verdict).details, "");
  EXPECT_FALSE(told(verdict).hack());
  verdict.naive->pass = false;
  EXPECT_EQ(told(verdict).message, verdict.message);
  EXPECT_FALSE(verdict.hack());
  verdict.kind = VerdictKind::kPass;
  EXPECT_EQ(told(verdict).kind, VerdictKind::kFailIncorrect);
}

}  // namespace
}  // namespace temper
