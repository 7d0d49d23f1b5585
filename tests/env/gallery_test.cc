// Every candidate of tests/gallery/cpp through the real judge. A candidate's first lines say what is
// expected: tests/env/exhibits.h.

#include <gtest/gtest.h>

#include "base/files.h"
#include "env/judge/judge.h"
#include "tests/env/exhibits.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
const fs::path kGallery = fs::path(TEMPER_SOURCE_DIR) / "tests/gallery";

JudgeOptions options() {
  JudgeOptions options;
  options.run_timeout_s =
      10 * kPatience;  // honest ones take a fiftieth, and busy machines many times as long
  options.compile_timeout_s = kPatience_s;
  return options;
}

TEST(Gallery, EveryCandidateGetsItsVerdict) {
  const auto gallery = read_gallery(kGallery / "cpp", ".cc");
  ASSERT_GE(gallery.size(), 100u);
  Judge judge(options(), load_tasks(kGallery / "tasks.yaml"));
  compare_with_expectations(gallery, judge_all(judge, gallery), &judge);
}

// What is right of inputs and memory as they used to look, and of no others; and honest work of unusual form.
TEST(Gallery, WhatIsRightByHabitDoesNotPass) {
  const auto gallery = read_gallery(kGallery / "habits", ".cc");
  ASSERT_GE(gallery.size(), 80u);
  Judge judge(options(), load_tasks(kGallery / "habits/tasks.yaml"));
  compare_with_expectations(gallery, judge_all(judge, gallery), &judge);
}

TEST(Gallery, HugeSourcesAreRefusedAtOnce) {
  Judge judge(options(), load_tasks(kGallery / "tasks.yaml"));
  const std::string line = "// kernel " + std::string(64 << 20, ' ');
  const Verdict verdict = judge.judge("add", line);
  EXPECT_EQ(text_of(verdict).find("FAIL_COMPILE source_too_long (FAIL_COMPILE the source is too long"), 0u)
      << text_of(verdict).substr(0, 200);
}

TEST(Gallery, ACandidateLeavesNothingToTheNext) {
  Judge judge(options(), load_tasks(kGallery / "tasks.yaml"));
  const std::string honest = read_file(kGallery / "cpp/add_plain.cc");
  for (const char* name : {"endless_and_deaf", "memory_bomb", "forged_frames_then_exit", "disk_bomb"}) {
    judge.judge("add", read_file(kGallery / "cpp" / (std::string(name) + ".cc")));
    const Verdict verdict = judge.judge("add", honest + "// after " + name + "\n");
    EXPECT_TRUE(verdict.pass()) << name << ": " << text_of(verdict);
  }
}

}  // namespace
}  // namespace temper::env
