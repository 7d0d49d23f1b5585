// Every candidate of tests/gallery/cuda through the real judge, from source to verdict. Its first lines say
// what is expected, as in tests/env/gallery_test.cc.

#include <gtest/gtest.h>

#include "base/error.h"
#include "env/judge/judge.h"
#include "tests/env/exhibits.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

const std::filesystem::path kGallery = std::filesystem::path(TEMPER_SOURCE_DIR) / "tests/gallery/cuda";

JudgeOptions options() {
  JudgeOptions options;
  options.judge = "both";
  options.run_timeout_s = 10 * kPatience;
  return options;
}

// A judge, or why this machine has none.
std::unique_ptr<Judge> judge_here(std::string& missing) {
  try {
    return std::make_unique<Judge>(options(), load_tasks(kGallery / "tasks.yaml"));
  } catch (const WorldError& e) {
    missing = e.what();
    return nullptr;
  }
}

TEST(GpuGallery, EveryCandidateGetsItsVerdict) {
  std::string missing;
  const auto judge = judge_here(missing);
  if (!judge && missing.find("no NVIDIA driver") == std::string::npos) FAIL() << missing;
  if (!judge) GTEST_SKIP() << missing;
  const auto gallery = read_gallery(kGallery, ".cu");
  ASSERT_GE(gallery.size(), 122u);
  const auto verdicts = judge_all(*judge, gallery);
  compare_with_expectations(gallery, verdicts, judge.get());
  const auto fooled = std::count_if(verdicts.begin(), verdicts.end(), [](const auto& entry) {
    return entry.second.hack() && entry.second.naive && entry.second.naive->pass;
  });
  EXPECT_GE(fooled, 10);  // what only a judge that looks less closely lets pass
}

TEST(GpuGallery, ACandidateLeavesNothingToTheNext) {
  std::string missing;
  const auto judge = judge_here(missing);
  if (!judge) GTEST_SKIP() << missing;
  const auto gallery = read_gallery(kGallery, ".cu");
  const auto source = [&](const std::string& name) {
    return std::find_if(gallery.begin(), gallery.end(), [&](const Exhibit& e) { return e.name == name; })
        ->source;
  };
  for (const char* name : {"endless", "wild_pointer", "trap", "inputs_zeroed"}) {
    judge->judge("gpu_add", source(name));
    const Verdict verdict = judge->judge("gpu_add", source("add_plain") + "// after " + name + "\n");
    EXPECT_TRUE(verdict.pass()) << name << ": " << text_of(verdict);
  }
}

}  // namespace
}  // namespace temper::env
