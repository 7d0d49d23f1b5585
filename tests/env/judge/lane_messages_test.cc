#include "env/judge/lane_messages.h"

#include <gtest/gtest.h>

#include <limits>

namespace temper::env {
namespace {

LaneAnswer whole() {
  LaneAnswer answer;
  answer.verdict = verdict_of(VerdictKind::kFailCompile, "compile_error");
  answer.prepared = "plans\nof any bytes";
  answer.host = HostOrigin::kMade;
  answer.made = {"stubs", "object\n"};
  return answer;
}

TEST(LaneMessages, AnswersComeBack) {
  const LaneAnswer back = lane_answer_from(to_text(whole()));
  EXPECT_EQ(back.verdict.reason, "compile_error");
  EXPECT_EQ(back.prepared, whole().prepared);
  EXPECT_EQ(back.made.stubs + back.made.object, "stubsobject\n");
  EXPECT_EQ(back.waits, "");
  const LaneAnswer waits =
      lane_answer_from(to_text(LaneAnswer{.waits = "12 core-3, which is held by pid 1"}));
  EXPECT_EQ(waits.waits, "12 core-3, which is held by pid 1");
  const LaneRequest request = lane_request_from(to_text(LaneRequest{3, "source\n1 2", {"a", "bc"}}));
  EXPECT_EQ(request.task, 3u);
  EXPECT_EQ(request.source, "source\n1 2");
  EXPECT_EQ(request.known.stubs + request.known.object, "abc");
}

// A message that is none is an exception with words, which the lane catches; and never a verdict.
TEST(LaneMessages, DamagedOnesAreNoVerdicts) {
  const std::string text = to_text(whole());
  const size_t bytes = whole().prepared.size();
  for (size_t size = 0; size + bytes < text.size(); ++size) {
    try {
      EXPECT_TRUE(lane_answer_from(text.substr(0, size)).verdict.infra()) << size;
    } catch (const std::exception&) {
    }
  }
  const std::string verdict = text.substr(0, text.find('\n') + 1);
  for (const char* head : {"", "0", "0 0", "9 0 0\n", "-1 0 0\n", "0 99 0\n", "0 0 18446744073709551615\n",
                           "0 18446744073709551615 2\n", "x 0 0\n"})
    EXPECT_THROW(lane_answer_from(verdict + head), std::exception) << head;
  for (const char* request : {"", "x", "1", "1 2", "1 2 3\n", "1 0 18446744073709551615\n"})
    EXPECT_THROW(lane_request_from(request), std::exception) << request;
}

TEST(LaneMessages, AnInfiniteSpeedupIsInfraWithWords) {
  LaneAnswer answer = whole();
  answer.verdict = verdict_of(VerdictKind::kPass, "");
  answer.verdict.candidate_us = answer.verdict.baseline_us = 1;
  answer.verdict.speedup = std::numeric_limits<double>::infinity();
  const LaneAnswer back = lane_answer_from(to_text(answer));
  EXPECT_TRUE(back.verdict.infra());
  EXPECT_EQ(back.verdict.reason, "a verdict that cannot be: speedup is inf");
  EXPECT_EQ(back.prepared, answer.prepared);
}

}  // namespace
}  // namespace temper::env
