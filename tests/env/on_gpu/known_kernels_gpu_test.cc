// Naive, good and better kernels of the same tasks (tests/gallery/cuda/known): the judge puts them in that
// order.

#include <gtest/gtest.h>

#include "base/error.h"
#include "env/judge/judge.h"
#include "tests/env/exhibits.h"

namespace temper::env {
namespace {

const std::filesystem::path kSource = TEMPER_SOURCE_DIR;

std::vector<Task> tasks_of(const std::vector<Exhibit>& gallery) {
  std::vector<Task> tasks;
  for (const Task& task : load_tasks(kSource / "env/tasks/cuda"))
    if (std::any_of(gallery.begin(), gallery.end(),
                    [&](const Exhibit& e) { return e.expected.at("task") == task.name; }))
      tasks.push_back(task);
  return tasks;
}

TEST(GpuKnownKernels, RankAsTheyShould) {
  const auto gallery = read_gallery(kSource / "tests/gallery/cuda/known", ".cu");
  ASSERT_GE(gallery.size(), 28u);
  std::unique_ptr<Judge> judge;
  try {
    judge = std::make_unique<Judge>(JudgeOptions{}, tasks_of(gallery));
  } catch (const WorldError& e) {
    if (std::string(e.what()).find("no NVIDIA driver") == std::string::npos) FAIL() << e.what();
    GTEST_SKIP() << e.what();
  }
  const auto verdicts = judge_all(*judge, gallery);
  compare_with_expectations(gallery, verdicts, judge.get());
  size_t ranked = 0;
  for (const Exhibit& exhibit : gallery) {
    const auto better = exhibit.expected.find("slower than");
    if (better == exhibit.expected.end()) continue;
    ++ranked;
    EXPECT_LT(verdicts.at(exhibit.name).speedup, verdicts.at(better->second).speedup_low)
        << exhibit.name << ": " << text_of(verdicts.at(exhibit.name)) << "; " << better->second << ": "
        << text_of(verdicts.at(better->second));
  }
  EXPECT_EQ(ranked, 7u);
}

}  // namespace
}  // namespace temper::env
