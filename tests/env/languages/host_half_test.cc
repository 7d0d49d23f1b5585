#include "env/languages/host_half.h"

#include <gtest/gtest.h>

#include "env/judge/lane_messages.h"

namespace temper::env {
namespace {

HostHalf half(const std::string& object) { return {"stubs", object}; }

TEST(HostHalves, AreFoundByTheirDigestAlone) {
  HostHalves halves(1 << 20);
  EXPECT_EQ(halves.find("a").object, "");
  halves.keep("a", half("A"));
  EXPECT_EQ(halves.find("a").object, "A");
  EXPECT_EQ(halves.find("a").stubs, "stubs");
  EXPECT_EQ(halves.find("b").object, "");
  halves.keep("a", half("A2"));
  EXPECT_EQ(halves.find("a").object, "A2");
  EXPECT_EQ(halves.size(), 1u);
}

TEST(HostHalves, TheOneUsedLongestAgoGoes) {
  HostHalves halves(40 * 106);  // "00" + 5 + 99
  for (int i = 0; i < 40; ++i) halves.keep(std::to_string(10 + i), half(std::string(99, 'x')));
  EXPECT_EQ(halves.size(), 40u);
  EXPECT_NE(halves.find("10").object, "");
  halves.keep("99", half(std::string(99, 'x')));
  EXPECT_EQ(halves.size(), 40u);
  EXPECT_NE(halves.find("10").object, "");
  EXPECT_EQ(halves.find("11").object, "");
  halves.keep("10", half(std::string(199, 'x')));  // … and what is larger drives out more
  EXPECT_EQ(halves.size(), 39u);
  EXPECT_EQ(halves.find("12").object, "");
}

TEST(HostHalves, OneCandidateDrivesOutFewOthers) {
  HostHalves halves(16 * 1000);
  halves.keep("small", half("A"));
  halves.keep("large", half(std::string(1000, 'x')));
  EXPECT_EQ(halves.find("large").object, "");
  EXPECT_EQ(halves.find("small").object, "A");
  halves.keep("small", half(std::string(1000, 'x')));  // what was there holds no longer
  EXPECT_EQ(halves.size(), 0u);
}

TEST(HostHalves, TravelBetweenAJudgeAndItsLanes) {
  const HostHalf any{std::string("s\n\0 3", 5), std::string("\x7f"
                                                            "ELF\n\0",
                                                            6)};
  for (const HostHalf& sent : {any, HostHalf{}}) {
    const LaneRequest request = lane_request_from(to_text(LaneRequest{7, "12 source\n", sent}));
    EXPECT_EQ(request.task, 7u);
    EXPECT_EQ(request.source, "12 source\n");
    EXPECT_EQ(request.known.stubs, sent.stubs);
    EXPECT_EQ(request.known.object, sent.object);
    LaneAnswer made{.verdict = {}, .prepared = "\n1 2", .host = HostOrigin::kKnown, .made = sent};
    made.verdict.message = "a\nb";
    const LaneAnswer answer = lane_answer_from(to_text(made));
    EXPECT_EQ(answer.verdict.message, "a\nb");
    EXPECT_EQ(answer.prepared, "\n1 2");
    EXPECT_TRUE(answer.host == HostOrigin::kKnown);
    EXPECT_EQ(answer.made.stubs, sent.stubs);
    EXPECT_EQ(answer.made.object, sent.object);
  }
}

}  // namespace
}  // namespace temper::env
