#include "env/judge/lane_messages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "base/files.h"
#include "env/judge/judge_server.h"

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

// A fuzzer gets nowhere from messages that are refused at once, as those become that lack a new field.
TEST(LaneMessages, TheFuzzersCorpusIsRead) {
  const std::map<std::string, void (*)(const std::string&)> readers{
      {"setup", [](const std::string& text) { lane_setup_from(text); }},
      {"ready", [](const std::string& text) { lane_ready_from(text); }},
      {"request", [](const std::string& text) { lane_request_from(text); }},
      {"answer",
       [](const std::string& text) {
         const Verdict verdict = lane_answer_from(text).verdict;
         EXPECT_FALSE(verdict.reason.starts_with("a verdict that cannot be")) << verdict.reason;
       }},
      {"hello", [](const std::string& text) { judge_hello_from(text); }}};
  std::set<std::string> read;
  for (const auto& file :
       std::filesystem::directory_iterator(TEMPER_SOURCE_DIR "/tests/fuzz/corpus/lane_messages")) {
    const std::string name = file.path().filename(), kind = name.substr(0, name.find('_'));
    if (kind == "damaged") continue;
    ASSERT_TRUE(readers.contains(kind)) << name;
    EXPECT_NO_THROW(readers.at(kind)(read_file(file.path()))) << name;
    read.insert(kind);
  }
  EXPECT_EQ(read.size(), readers.size());
}

}  // namespace
}  // namespace temper::env
