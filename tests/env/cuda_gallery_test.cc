// Every candidate of tests/gallery/cuda/plan, on its way to a plan. Its first lines say what is expected, as
// tests/env/exhibits.h has it, and:
//
//   // expect: PLAN                        there is one for each shape
//   // plan: TEXT                          part of a line of the timed shape's plan

#include "env/plan/planner.h"
#include "tests/env/cuda_boxes.h"
#include "tests/env/exhibits.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = fs::path(TEMPER_SOURCE_DIR) / "tests/gallery/cuda/plan";
constexpr int kShards = 8;  // which may run at a time

Planned plan_here(const Task& task, const std::string& source) {
  CompileQuota quota = cuda_test_quota();
  if (source.find("A<N + 1> a") != std::string::npos) quota.wall = std::chrono::seconds(3);
  const auto seconds = int64_t(10 * kPatience);  // honest ones take milliseconds
  // More of the core's time than of the clock's, or the kernel ends what the budget shall end.
  RecorderProcess recorder({.program = TEMPER_BINARY_DIR "/temper-recorder",
                            .memory_bytes = 512 << 20,
                            .cpu_s = seconds + 2,
                            .user = kCudaTestUser});
  return plan_candidate(task, source, all_shapes(task), *cuda_toolchains(), quota, kCudaTestUser, {},
                        recorder, std::chrono::seconds(seconds));
}

void check_plan_of(const Planned& planned, const Task& task, const Exhibit& exhibit) {
  EXPECT_EQ(planned.plans.size(), task.check_shapes.size() + 1);
  const auto wanted = exhibit.expected.find("plan");
  const std::string text = plan_text(planned.plans.back());
  EXPECT_TRUE(wanted == exhibit.expected.end() || text.find(wanted->second) != std::string::npos) << text;
}

void check(const Exhibit& exhibit, const std::vector<Task>& tasks) {
  SCOPED_TRACE(exhibit.name);
  const Task& task = find_task(tasks, exhibit.expected.at("task"));
  const Planned planned = plan_here(task, exhibit.source);
  if (exhibit.expected.at("expect") != "PLAN") {
    ASSERT_TRUE(planned.failure) << plan_text(planned.plans.back());
    return compare_with_expectations({exhibit}, {{exhibit.name, verdict_of(*planned.failure)}});
  }
  ASSERT_FALSE(planned.failure) << text_of(verdict_of(*planned.failure));
  check_plan_of(planned, task, exhibit);
}

class CudaGallery : public testing::TestWithParam<int> {};

TEST_P(CudaGallery, EveryCandidateGetsItsPlanOrItsVerdict) {
  SKIP_WITHOUT_RECORDER();
  const auto tasks = load_tasks(kFolder / "tasks.yaml");
  const auto gallery = read_gallery(kFolder, ".cu");
  ASSERT_GE(gallery.size(), 124u);
  for (size_t i = size_t(GetParam()); i < gallery.size(); i += kShards) check(gallery[i], tasks);
}

// What the GPU's judge must know comes as far as that.
TEST_P(CudaGallery, WhatIsJudgedOnAGpuHasItsPlan) {
  SKIP_WITHOUT_RECORDER();
  const auto tasks = load_tasks(kFolder.parent_path() / "tasks.yaml");
  const auto gallery = read_gallery(kFolder.parent_path(), ".cu");
  ASSERT_GE(gallery.size(), 124u);
  for (size_t i = size_t(GetParam()); i < gallery.size(); i += kShards) {
    const Exhibit& exhibit = gallery[i];
    const auto planned = plan_here(find_task(tasks, exhibit.expected.at("task")), exhibit.source);
    if (planned.failure) compare_with_expectations({exhibit}, {{exhibit.name, verdict_of(*planned.failure)}});
  }
}

// "| `name` | what it tries | verdict | …" for each.
std::map<std::string, std::string> verdicts_of_table(const fs::path& path) {
  std::map<std::string, std::string> verdicts;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line) && !line.starts_with("## ");) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    if (cells.size() == 6 && cells[1].starts_with(" `"))
      verdicts[cells[1].substr(2, cells[1].size() - 4)] = cells[3].substr(1, cells[3].size() - 2);
  }
  return verdicts;
}

TEST(CudaGalleryTable, NamesEveryFileWithItsVerdict) {
  std::map<std::string, std::string> there;
  for (const std::string folder : {"", "plan/"})
    for (const Exhibit& exhibit : read_gallery(kFolder.parent_path() / folder, ".cu")) {
      std::string expected = exhibit.expected.at("expect");
      for (size_t at; (at = expected.find('|')) != std::string::npos;) expected.replace(at, 1, " or ");
      there[folder + exhibit.name] = expected;
    }
  ASSERT_GE(there.size(), 245u);
  EXPECT_EQ(verdicts_of_table(kFolder.parent_path() / "README.md"), there);
}

INSTANTIATE_TEST_SUITE_P(Shards, CudaGallery, testing::Range(0, kShards));

}  // namespace
}  // namespace temper::env
