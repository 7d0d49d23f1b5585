// Every candidate of tests/gallery/cuda/plan, on its way to a plan. Its first lines say what is expected:
//
//   // task: add
//   // expect: KIND|OTHER_KIND reason      the reason by its beginning; PLAN: there is one for each shape
//   // plan: TEXT                          part of a line of the timed shape's plan
//   // message: TEXT                       the beginning of what the next turn reads, or: without TEXT

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/files.h"
#include "env/box/planner.h"
#include "env/message.h"
#include "tests/env/cuda_boxes.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = fs::path(TEMPER_SOURCE_DIR) / "tests/gallery/cuda/plan";
constexpr int kShards = 8;  // which may run at a time

std::map<std::string, std::string> expectations(const std::string& source) {
  std::map<std::string, std::string> expected;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line) && line.starts_with("// ");) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) expected.emplace(line.substr(3, colon - 3), line.substr(colon + 2));
  }
  return expected;
}

std::vector<fs::path> candidates() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".cu") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Planned plan_here(const Task& task, const std::string& source) {
  CompileQuota quota = cuda_compile_quota();
  quota.wall = std::chrono::seconds(60);
  if (source.find("A<N + 1> a") != std::string::npos) quota.wall = std::chrono::seconds(3);
  RecorderProcess recorder(
      {.program = TEMPER_BINARY_DIR "/temper-recorder", .memory_bytes = 512 << 20, .user = kCudaTestUser});
  return plan_candidate(task, source, all_shapes(task), *cuda_toolchain(), quota, kCudaTestUser, {}, recorder,
                        std::chrono::milliseconds(1500));
}

bool as_expected(const Planned& planned, const std::string& expectation) {
  std::istringstream words(expectation);
  std::string kinds, reason;
  words >> kinds >> reason;
  std::istringstream allowed(kinds);
  for (std::string kind; std::getline(allowed, kind, '|');)
    if (kind == (planned.failure ? to_string(planned.failure->kind) : "PLAN"))
      return !planned.failure || planned.failure->reason.starts_with(reason);
  return false;
}

// As the broker would tell it.
std::string message_of(const PlanFailure& failure) {
  Verdict verdict;
  verdict.kind = failure.kind;
  verdict.reason = failure.reason;
  return verdict_message(verdict, failure.detail);
}

void check(const fs::path& path, const std::vector<Task>& tasks) {
  SCOPED_TRACE(path.filename());
  const std::string source = read_file(path);
  const auto expected = expectations(source);
  const Task& task = find_task(tasks, expected.at("task"));
  const Planned planned = plan_here(task, source);
  const std::string text = planned.failure ? message_of(*planned.failure) : plan_text(planned.plans.back());
  EXPECT_TRUE(as_expected(planned, expected.at("expect")))
      << "expected " << expected.at("expect") << ", got "
      << (planned.failure ? planned.failure->reason : "PLAN") << ": " << text;
  EXPECT_TRUE(planned.failure || planned.plans.size() == task.check_shapes.size() + 1);
  if (const auto it = expected.find("plan"); it != expected.end()) {
    EXPECT_NE(text.find(it->second), std::string::npos) << text;
  }
  if (const auto it = expected.find("message"); it != expected.end()) {
    const bool without = it->second.starts_with("without ");
    const std::string words =
        without ? it->second.substr(8) : to_string(planned.failure->kind) + (" " + it->second);
    EXPECT_EQ(without, !text.starts_with(words) && text.find(words) == std::string::npos) << text;
  }
}

class CudaGallery : public testing::TestWithParam<int> {};

TEST_P(CudaGallery, EveryCandidateGetsItsPlanOrItsVerdict) {
  SKIP_WITHOUT_NVCC();
  const auto tasks = load_tasks(kFolder / "tasks.yaml");
  const auto paths = candidates();
  ASSERT_GE(paths.size(), 80u);
  for (size_t i = size_t(GetParam()); i < paths.size(); i += kShards) check(paths[i], tasks);
}

INSTANTIATE_TEST_SUITE_P(Shards, CudaGallery, testing::Range(0, kShards));

}  // namespace
}  // namespace temper
