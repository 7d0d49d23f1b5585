#include "policy/ranks/call_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "policy/ranks/call_trace.h"

namespace temper::policy {
namespace {

using testing::HasSubstr;
using Calls = std::vector<std::string>;  // "loss", or with a shape "loss/5"

CallHistory history_of(const Calls& calls) {
  CallTrace trace;
  for (const std::string& call : calls) {
    const size_t slash = call.find('/');
    const int64_t count = slash == std::string::npos ? 1 : std::stoll(call.substr(slash + 1));
    trace.add("all-reduce", lasting_name(call.substr(0, slash)), count, "f32");
  }
  return history_from(nlohmann::json::parse(to_json(trace.history()).dump()));
}

std::optional<Parting> parting_of(const std::vector<Calls>& by_rank) {
  std::vector<CallHistory> histories;
  for (const Calls& calls : by_rank) histories.push_back(history_of(calls));
  std::vector<const CallHistory*> told;
  for (const CallHistory& history : histories) told.push_back(&history);
  return find_parting(told);
}

// `steps` times the calls of a step.
Calls steps_of(int steps, const Calls& step = {"a", "b", "c", "d"}) {
  Calls calls;
  for (int i = 0; i < steps; ++i) calls.insert(calls.end(), step.begin(), step.end());
  return calls;
}

Calls operator+(Calls calls, const Calls& more) {
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

TEST(CallHistory, LikeCallsDoNotPart) {
  EXPECT_FALSE(parting_of({{}, {}}));
  EXPECT_FALSE(parting_of({{"a", "b"}, {"a", "b"}, {"a"}, {}}));
  EXPECT_FALSE(parting_of({steps_of(100), steps_of(70)}));
}

// Who takes another call's numbers for its own may go on as nobody ever did.
TEST(CallHistory, WhatFollowsAForeignNumberDoesNotHideWhatWasLeftOut) {
  const Calls others = steps_of(2) + Calls{"a", "b", "c", "d", "nonsense"};
  // Both leave out b. The second also makes a and b again, so that its first three calls look like too many.
  for (const Calls& went_on : {Calls{"c", "d", "other nonsense"}, Calls{"c", "d", "a", "b"}}) {
    const Calls odd = steps_of(2) + Calls{"a"} + went_on;
    EXPECT_THAT(parting_of({others, odd, others})->what,
                HasSubstr("it left out call 10, the all-reduce \"b\" of 1 × f32, and went on with"));
    EXPECT_THAT(
        parting_of({odd, others, odd})->what,
        HasSubstr("its call 10, the all-reduce \"b\" of 1 × f32, is one that the others did not make"));
  }
}

TEST(CallHistory, ACallThatWasLeftOutIsNamed) {
  const auto parting = parting_of({steps_of(2), steps_of(1) + Calls{"a", "c", "d"}, steps_of(2)});
  ASSERT_TRUE(parting);
  EXPECT_TRUE(parting->certain);
  EXPECT_EQ(parting->rank, 1);
  EXPECT_EQ(parting->other, -1);
  EXPECT_EQ(
      parting->what,
      "has made other collective calls than the others: it left out call 6, the all-reduce \"b\" of 1 × f32, "
      "and went on with the all-reduce \"c\" of 1 × f32");
}

TEST(CallHistory, WhereAllWaitTheStepBeforeTellsWhatWasLeftOut) {
  // Nobody came further than the call where they part.
  const Calls others = steps_of(2) + Calls{"a", "b"}, odd = steps_of(2) + Calls{"a", "c"};
  EXPECT_THAT(parting_of({others, others, odd})->what,
              HasSubstr("it left out call 10, the all-reduce \"b\""));
  EXPECT_THAT(parting_of({others, odd, others})->what,
              HasSubstr("it left out call 10, the all-reduce \"b\""));
  // In the first step nothing tells, and both are said.
  EXPECT_THAT(
      parting_of({{"a", "b"}, {"a", "b"}, {"a", "c"}})->what,
      HasSubstr("its call 2 is the all-reduce \"c\" of 1 × f32, that of the others the all-reduce \"b\" of "
                "1 × f32: it left out the latter, or the former is one that the others did not make"));
}

TEST(CallHistory, SeveralCallsThatWereLeftOutAreCounted) {
  const auto parting = parting_of({steps_of(2), steps_of(1) + Calls{"c", "d", "a"}, steps_of(2)});
  EXPECT_THAT(parting->what,
              HasSubstr("it left out call 5, the all-reduce \"a\" of 1 × f32 and 1 more, and went on"));
}

TEST(CallHistory, ACallThatWasAddedIsNamed) {
  const auto parting = parting_of({steps_of(2), steps_of(2), steps_of(1) + Calls{"a", "x", "b", "c"}});
  EXPECT_EQ(parting->rank, 2);
  EXPECT_THAT(parting->what,
              HasSubstr("its call 6, the all-reduce \"x\" of 1 × f32, is one that the others did not "
                        "make; they went on with the all-reduce \"b\""));
}

TEST(CallHistory, AnotherShapeIsNamed) {
  const auto parting = parting_of({{"a", "b/5"}, {"a", "b/6"}, {"a", "b/5"}});
  EXPECT_EQ(parting->rank, 1);
  EXPECT_THAT(parting->what, HasSubstr("its call 2 is the all-reduce \"b\" of 6 × f32, that of the others "
                                       "the all-reduce \"b\" of 5 × f32"));
}

TEST(CallHistory, ACallInPlaceOfAnotherIsNamed) {
  const auto parting = parting_of({{"a", "b", "c", "d"}, {"a", "b", "c", "d"}, {"a", "x", "c", "d"}});
  EXPECT_THAT(
      parting->what,
      HasSubstr("it made the all-reduce \"x\" of 1 × f32 as call 2, in place of the all-reduce \"b\""));
}

TEST(CallHistory, OfTwoRanksBothAreSaid) {
  const auto parting = parting_of({steps_of(2) + Calls{"a", "b"}, steps_of(2) + Calls{"a", "c"}});
  ASSERT_TRUE(parting);
  EXPECT_TRUE(parting->certain);
  EXPECT_EQ(parting->rank, 0);
  EXPECT_EQ(parting->other, 1);
  EXPECT_EQ(parting->what,
            "have made different collective calls: call 10 is the all-reduce \"b\" of 1 × f32 on rank 0, the "
            "all-reduce \"c\" of 1 × f32 on rank 1: rank 1 left out the all-reduce \"b\" of 1 × f32, or rank "
            "0 made "
            "it once too often; earlier in the run it was the all-reduce \"b\" that came there");
  const auto mirrored = parting_of({steps_of(2) + Calls{"a", "c"}, steps_of(2) + Calls{"a", "b"}});
  EXPECT_THAT(mirrored->what,
              HasSubstr("rank 0 left out the all-reduce \"b\" of 1 × f32, or rank 1 made it once"));
  EXPECT_THAT(parting_of({{"a", "b"}, {"a", "c"}})->what, HasSubstr("one of the two calls was left out"));
}

TEST(CallHistory, TwoAgainstTwoIsNobodysMajority) {
  const auto parting = parting_of({{"a"}, {"b"}, {"a"}, {"b"}});
  EXPECT_EQ(parting->rank, 0);
  EXPECT_EQ(parting->other, 1);
  EXPECT_THAT(
      parting->what,
      HasSubstr("\"a\" of 1 × f32 on ranks 0 and 2, the all-reduce \"b\" of 1 × f32 on ranks 1 and 3"));
}

TEST(CallHistory, WhoHasNotComeThereYetMayDecide) {
  const auto open = parting_of({{"a", "b"}, {"a", "c"}, {"a"}});
  EXPECT_FALSE(open->certain);
  const auto decided = parting_of({{"a", "b"}, {"a", "c"}, {"a", "c"}, {}, {}});
  EXPECT_FALSE(decided->certain);  // three of five could still be like rank 0
  EXPECT_TRUE(parting_of({{"a", "b"}, {"a", "c"}, {"a", "c"}, {"a", "c"}, {}})->certain);
}

TEST(CallHistory, RanksThatAreUnlikeTheMostTooAreSaid) {
  const auto parting = parting_of({{"a"}, {"b"}, {"a"}, {"c"}, {"a"}, {"b"}});
  EXPECT_EQ(parting->rank, 1);
  EXPECT_THAT(parting->what, HasSubstr("; ranks 3 and 5 are unlike the most, too"));
}

TEST(CallHistory, PartingsBeforeWhatIsKeptAreKnownAsSuch) {
  const auto parting = parting_of({Calls{"a"} + steps_of(10'000), Calls{"b"} + steps_of(10'000)});
  ASSERT_TRUE(parting);
  EXPECT_THAT(parting->what, HasSubstr("have made different collective calls: they parted before call"));
  const auto found =
      parting_of({steps_of(5'000) + Calls{"x"}, steps_of(5'000) + Calls{"y"}, steps_of(4'000)});
  EXPECT_THAT(found->what, HasSubstr("call 20001 is the all-reduce \"x\""));
}

TEST(CallHistory, WhatIsNoHistoryIsRefused) {
  const nlohmann::json good = to_json(history_of({"a", "b"}));
  EXPECT_NO_THROW(history_from(good));
  for (const auto& [key, value] : std::vector<std::pair<const char*, nlohmann::json>>{{"first", 2},
                                                                                      {"first", -1},
                                                                                      {"calls", {0, 7}},
                                                                                      {"calls", "x"},
                                                                                      {"texts", {1}},
                                                                                      {"marks", nullptr}}) {
    nlohmann::json bad = good;
    bad[key] = value;
    EXPECT_ANY_THROW(history_from(bad)) << key << " " << value;
  }
}

// A call that is left out, added or changed is found at its place, wherever that is.
TEST(CallHistory, AnyChangeIsFoundWhereItWasMade) {
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return size_t(random() % n); };
  for (int trial = 0; trial < 300; ++trial) {
    Calls step;
    for (size_t i = 0, n = 2 + below(9); i < n; ++i) step.push_back("call " + std::to_string(i));
    const Calls calls = steps_of(int(2 + below(40)), step);
    Calls odd = calls;
    const size_t place = step.size() + below(calls.size() - step.size() - 1);
    const auto kind = trial % 3;
    if (kind == 0) odd.erase(odd.begin() + int64_t(place));
    if (kind == 1) odd.insert(odd.begin() + int64_t(place), "added");
    if (kind == 2) odd[place] += "/7";
    odd.resize(std::max(place + 1, odd.size() - below(odd.size() - place)));
    const auto parting = parting_of({calls, odd, calls});
    ASSERT_TRUE(parting) << trial;
    EXPECT_EQ(parting->rank, 1);
    EXPECT_THAT(parting->what, HasSubstr(fmt::format("call {}", place + 1))) << trial;
    EXPECT_THAT(parting->what, HasSubstr(kind == 0   ? "left out"
                                         : kind == 1 ? "\"added\""
                                                     : "of 7 × f32"))
        << trial;
  }
}

}  // namespace
}  // namespace temper::policy
