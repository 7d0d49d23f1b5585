#include "env/verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace temper::env {
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

Verdict fast() {
  Verdict verdict = verdict_of(VerdictKind::kPass, "");
  verdict.candidate_us = 2;
  verdict.baseline_us = 4;
  verdict.speedup = verdict.speedup_low = verdict.speedup_high = 2;
  return verdict;
}

TEST(Verdict, KnowsWhatItsProblemTells) {
  Verdict verdict = fast();
  EXPECT_FALSE(verdict.weak() || verdict.unusable() || nlohmann::json(verdict).contains("problem"));
  verdict.problem = ProblemNotes{.weak = {}, .weak_comparable = {"zeros"}};
  EXPECT_FALSE(verdict.weak()) << "KernelBench's count pays nobody";
  verdict.problem->weak = {"zeros", "stale"};
  verdict.naive = {.pass = true, .speedup = 4.5, .binding = true};
  const auto back = nlohmann::json::parse(nlohmann::json(verdict).dump()).get<Verdict>();
  EXPECT_TRUE(back.weak());
  EXPECT_EQ(*back.problem, *verdict.problem);
  EXPECT_TRUE(told(back).weak());
  const Verdict none = unusable_problem("task t: draws numbers in forward");
  EXPECT_TRUE(none.infra() && none.unusable() && !none.weak());
  EXPECT_EQ(none.problem->unusable, none.reason);
  EXPECT_FALSE(infra("the runner does not start").unusable());
}

TEST(Verdict, NoTimeIsZeroInfiniteOrNoNumber) {
  EXPECT_EQ(unsound(fast()), "");
  EXPECT_EQ(unsound(infra("x")), "");
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (double Verdict::*field :
       {&Verdict::candidate_us, &Verdict::baseline_us, &Verdict::speedup, &Verdict::speedup_low,
        &Verdict::speedup_high, &Verdict::noise, &Verdict::floor_us, &Verdict::roof_us,
        &Verdict::profile_share, &Verdict::compile_ms, &Verdict::run_ms, &Verdict::total_ms,
        &Verdict::plan_ms, &Verdict::check_ms, &Verdict::time_ms})
    for (const double value : {nan, infinite, -infinite, -2.0}) {
      Verdict verdict = fast();
      verdict.*field = value;
      if (field == &Verdict::profile_share && value == -2.0) continue;  // says that there is none
      EXPECT_NE(unsound(verdict), "") << value;
      EXPECT_TRUE(sound(verdict).infra());
      // What is written can be read.
      const VerdictRead read = parse_verdict(nlohmann::json(verdict).dump());
      ASSERT_TRUE(read.verdict) << read.error;
      EXPECT_TRUE(read.verdict->infra());
      EXPECT_TRUE(read.verdict->reason.starts_with("a verdict that cannot be: ")) << read.verdict->reason;
    }
  for (double Verdict::*field : {&Verdict::candidate_us, &Verdict::baseline_us, &Verdict::speedup}) {
    Verdict verdict = fast();
    verdict.*field = 0;
    EXPECT_NE(unsound(verdict), "");
  }
  Verdict timed = fast();
  timed.pairs = 7;
  EXPECT_EQ(unsound(timed), "");
  timed.candidate_us = timed.baseline_us = 0;
  EXPECT_EQ(unsound(timed), "timed, but candidate_us is 0");
  Verdict deep = fast();
  deep.profile = Profile{{{"sum", 2, 13.1, nan}}, 14.2, 2e12, 3e9, 0.45, "memory"};
  EXPECT_EQ(unsound(deep), "profile.share is nan");
  deep = fast();
  deep.naive = {.pass = true, .speedup = infinite, .binding = true};
  EXPECT_EQ(unsound(deep), "naive.speedup is inf");
  deep = fast();
  deep.speedup_compiled = infinite;
  EXPECT_EQ(unsound(deep), "speedup_compiled is inf");
}

TEST(Verdict, AMalformedOneIsAReasonAndNoException) {
  const nlohmann::json whole = fast();
  EXPECT_TRUE(read_verdict(whole).verdict);
  for (const auto& [name, value] : whole.items()) {
    nlohmann::json other = whole;
    other[name] = nlohmann::json::array({value});
    EXPECT_FALSE(read_verdict(other).verdict) << name;
    EXPECT_NE(read_verdict(other).error, "") << name;
  }
  const auto with = [&](const char* name, const nlohmann::json& value) {
    nlohmann::json json = whole;
    json[name] = value;
    return read_verdict(json).error;
  };
  EXPECT_NE(with("speedup", nullptr), "");  // how infinity is written
  EXPECT_NE(with("pairs", 1e300), "");
  EXPECT_NE(with("pairs", 1.5), "");
  EXPECT_NE(with("kind", "PASSED"), "");
  EXPECT_NE(with("speedup", 0), "");
  EXPECT_NE(with("profile", 3), "");
  EXPECT_NE(with("naive", nlohmann::json::object()), "");
  for (const char* text : {"", "[", "[]", "3", "null", "\"PASS\"", "{}", "{\"kind\": \"PASS\"}"})
    EXPECT_NE(parse_verdict(text).error, "") << text;
  // What lies deep is told without being written out, which calls itself for each level.
  std::string text = whole.dump();
  const size_t at = text.find("\"pairs\":") + 8;
  text.replace(at, text.find(',', at) - at, std::string(100'000, '[') + std::string(100'000, ']'));
  EXPECT_NE(parse_verdict(text).error, "");
}

Verdict fast_at_two() {
  Verdict verdict = fast();
  verdict.shapes = {{.sizes = {{"n", 3}, {"m", 4}},
                     .candidate_us = 1,
                     .baseline_us = 3,
                     .speedup = 3,
                     .speedup_low = 2.5,
                     .speedup_high = 3.5,
                     .roof_us = 0.5},
                    {.sizes = {{"n", 5}, {"m", 4}},
                     .candidate_us = 1,
                     .baseline_us = 1,
                     .speedup = 1,
                     .speedup_low = 0.9,
                     .speedup_high = 1.1,
                     .roof_us = 0}};
  return verdict;
}

TEST(Verdict, ShapesComeBackAndOneShapeIsNotWritten) {
  EXPECT_FALSE(nlohmann::json(fast()).contains("shapes"));
  const VerdictRead read = parse_verdict(nlohmann::json(fast_at_two()).dump());
  ASSERT_TRUE(read.verdict) << read.error;
  ASSERT_EQ(read.verdict->shapes.size(), 2u);
  const ShapeTime& first = read.verdict->shapes[0];
  EXPECT_EQ(first.sizes, (std::map<std::string, int64_t>{{"n", 3}, {"m", 4}}));
  EXPECT_EQ(first.candidate_us, 1);
  EXPECT_EQ(first.baseline_us, 3);
  EXPECT_EQ(first.speedup, 3);
  EXPECT_EQ(first.speedup_low, 2.5);
  EXPECT_EQ(first.speedup_high, 3.5);
  EXPECT_EQ(first.roof_us, 0.5);
}

TEST(Verdict, NoShapeHasATimeThatCannotBe) {
  EXPECT_EQ(unsound(fast_at_two()), "");
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (double ShapeTime::*field : {&ShapeTime::candidate_us, &ShapeTime::baseline_us, &ShapeTime::speedup,
                                   &ShapeTime::speedup_low, &ShapeTime::speedup_high, &ShapeTime::roof_us})
    for (const double value : {nan, infinite, -infinite, -2.0}) {
      Verdict verdict = fast_at_two();
      verdict.shapes[1].*field = value;
      EXPECT_TRUE(unsound(verdict).starts_with("shapes.")) << value << unsound(verdict);
      EXPECT_TRUE(parse_verdict(nlohmann::json(verdict).dump()).verdict->infra());
    }
  for (double ShapeTime::*field : {&ShapeTime::candidate_us, &ShapeTime::baseline_us, &ShapeTime::speedup}) {
    Verdict verdict = fast_at_two();
    verdict.shapes[1].*field = 0;
    EXPECT_TRUE(unsound(verdict).ends_with(" is 0")) << unsound(verdict);
  }
  Verdict verdict = fast_at_two();
  verdict.shapes.pop_back();
  EXPECT_EQ(unsound(verdict), "1 shapes");
  verdict.shapes.resize(9, fast_at_two().shapes[0]);
  EXPECT_EQ(unsound(verdict), "9 shapes");
  verdict = fast_at_two();
  verdict.shapes[0].sizes.clear();
  EXPECT_EQ(unsound(verdict), "a shape without sizes");
  verdict.shapes[0].sizes = {{"n", 0}};
  EXPECT_EQ(unsound(verdict), "shapes.sizes.n is 0");
}

TEST(Verdict, MalformedShapesAreAReason) {
  const nlohmann::json whole = fast_at_two();
  ASSERT_TRUE(read_verdict(whole).verdict);
  const auto with = [&](const char* at, const nlohmann::json& value) {
    nlohmann::json json = whole;
    json[nlohmann::json::json_pointer(at)] = value;
    return read_verdict(json).error;
  };
  for (const nlohmann::json& value : {nlohmann::json(3), nlohmann::json(nullptr), nlohmann::json::array(),
                                      nlohmann::json::object(), nlohmann::json{3, 4}})
    EXPECT_NE(with("/shapes", value), "") << value;
  EXPECT_NE(with("/shapes/0/speedup", nullptr), "");  // how infinity is written
  EXPECT_NE(with("/shapes/0/candidate_us", "1"), "");
  EXPECT_NE(with("/shapes/0/sizes", 7), "");
  EXPECT_EQ(with("/shapes/0/sizes/n", 1.5), "shapes.sizes.n is no integer");
  for (const auto& [name, value] : whole["shapes"][0].items()) {
    nlohmann::json json = whole;
    json["shapes"][0].erase(name);
    EXPECT_NE(read_verdict(json).error, "") << name;
  }
}

TEST(Verdict, ATextOfAStrangerIsBounded) {
  const std::string text = nlohmann::json(fast()).dump();
  ASSERT_TRUE(parse_verdict(text).verdict);
  const auto with = [&](const std::string& more) {
    return parse_verdict(text.substr(0, text.size() - 1) + ", " + more + "}").error;
  };
  EXPECT_EQ(with("\"other\": [[1]]"), "");
  EXPECT_THAT(with("\"kind\": \"HACK\""), testing::HasSubstr("names 'kind' twice"));
  const std::string lists(100'000, '['), ends(100'000, ']');
  EXPECT_THAT(with("\"other\": " + lists + ends), testing::HasSubstr("more than 8 deep"));
  std::string deep = text;
  const std::string pairs = "\"pairs\":";
  const size_t at = deep.find(pairs) + pairs.size();
  deep.replace(at, deep.find(',', at) - at, lists + ends);
  EXPECT_THAT(parse_verdict(deep).error, testing::HasSubstr("more than 8 deep"));
  EXPECT_THAT(with("\"other\": \"" + std::string(1 << 20, 'x') + "\""), testing::HasSubstr("bytes, at most"));
  EXPECT_THAT(parse_verdict(text + std::string(1, '\0')).error, testing::HasSubstr("NUL"));
}

TEST(Verdict, JsonKeepsEveryField) {
  Verdict verdict;
  verdict.kind = VerdictKind::kHack;
  verdict.reason = "floor";
  verdict.message = "HACK \"floor\"\n";
  double value = 1;
  for (double* field : {&verdict.candidate_us, &verdict.baseline_us, &verdict.speedup, &verdict.speedup_low,
                        &verdict.speedup_high, &verdict.floor_us, &verdict.roof_us, &verdict.profile_share,
                        &verdict.compile_ms, &verdict.run_ms, &verdict.total_ms, &verdict.plan_ms,
                        &verdict.check_ms, &verdict.time_ms, &verdict.noise}) {
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
  EXPECT_FALSE(back.naive || back.profile || back.audited || back.judged_again || back.overturned ||
               back.speedup_compiled);
  EXPECT_EQ(back.configuration, "");
  verdict.gpu = "NVIDIA H200";
  verdict.configuration = "configuration 2 of 8: BLOCK: 256";
  verdict.speedup_compiled = 0.9;
  const auto compared = nlohmann::json(verdict).get<Verdict>();
  EXPECT_EQ(compared.gpu, "NVIDIA H200");
  EXPECT_EQ(compared.configuration, "configuration 2 of 8: BLOCK: 256");
  EXPECT_EQ(compared.speedup_compiled, 0.9);
  verdict.audited = verdict.judged_again = verdict.overturned = true;
  verdict.profile =
      Profile{{{"sum", 2, 13.1, 0.92}, {"(copy)", 1, 1.1, 0.08}}, 14.2, 2e12, 3e9, 0.45, "memory"};
  const auto profiled = nlohmann::json(verdict).get<Verdict>();
  ASSERT_TRUE(profiled.audited && profiled.profile && profiled.judged_again && profiled.overturned);
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
}  // namespace temper::env
