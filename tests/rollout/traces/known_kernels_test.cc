// The kernels of tests/gallery/cuda/known compute what they are asked, found on the CPU: a GPU then says how
// fast.

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/cuda_on_cpu/computed.h"
#include "tests/env/exhibits.h"

namespace temper::traces {
namespace {

TEST(KnownKernels, ComputeTheirReferences) {
  std::map<std::string, std::vector<env::Exhibit>> by_task;
  for (env::Exhibit& exhibit : env::read_gallery(TEMPER_SOURCE_DIR "/tests/gallery/cuda/known", ".cu"))
    by_task[exhibit.expected.at("task")].push_back(std::move(exhibit));
  EXPECT_GE(by_task.size(), 20u);
  const auto tasks = env::load_tasks(TEMPER_SOURCE_DIR "/env/tasks/cuda");
  for (const auto& [name, exhibits] : by_task) {
    const env::Task& task = env::find_task(tasks, name);
    std::vector<std::string> sources;
    for (const env::Exhibit& exhibit : exhibits) sources.push_back(exhibit.source);
    const cuda_on_cpu::Library library(task, sources);
    cuda_on_cpu::Computed computed(task);
    for (size_t i = 0; i < exhibits.size(); ++i) EXPECT_TRUE(computed.by(library, i)) << exhibits[i].name;
  }
}

}  // namespace
}  // namespace temper::traces
