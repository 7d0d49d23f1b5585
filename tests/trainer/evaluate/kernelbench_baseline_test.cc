#include "trainer/evaluate/kernelbench_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class KernelBenchBaselineFile : public testing::Test {
 protected:
  ~KernelBenchBaselineFile() override { fs::remove(file_); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  std::string error() const {
    try {
      const KernelBenchBaseline read(file_);
      return "";
    } catch (const ConfigError& e) {
      return e.what();
    }
  }
  const fs::path file_ = fs::temp_directory_path() / fmt::format("temper_baseline_{}.json", ::getpid());
};

// Made up, in the form of results/timing/H100_Modal/baseline_time_torch.json.
TEST_F(KernelBenchBaselineFile, HasATimeForEachProblem) {
  write(
      R"({"level1": {"19_ReLU.py": {"mean": 2.66, "std": 0.0199, "min": 2.65, "max": 2.86, "num_trials": 100,
                                      "hardware": "NVIDIA H100 80GB HBM3", "device": "cuda:0"},
                       "2_Mean.py": {"mean": 1}},
            "level3": {"19_MobileNetV1.py": {"mean": 4.5}}})");
  const KernelBenchBaseline read(file_);
  const PublishedTime relu = read.find(1, "19_ReLU.py");
  EXPECT_EQ(relu.stats.mean, 2.66);
  EXPECT_EQ(relu.stats.num_trials, 100);
  EXPECT_EQ(relu.hardware, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(read.find(3, "19_MobileNetV1.py").stats.mean, 4.5);
  EXPECT_EQ(read.find(1, "2_Mean.py").hardware, "");
  EXPECT_TRUE(read.find(1, "2_Mean.py").stats.timed());
  EXPECT_EQ(read.find(1, "19_relu_renamed.py").stats.mean, 2.66);
  for (const auto& [level, file] :
       {std::pair(2, "19_ReLU.py"), std::pair(1, "1_ReLU.py"), std::pair(1, "x.py")})
    EXPECT_FALSE(read.find(level, file).stats.timed()) << level << file;
}

TEST_F(KernelBenchBaselineFile, WhatIsNoneIsRefusedByItsPlace) {
  EXPECT_THAT(error(), AllOf(HasSubstr("eval.kernelbench_baseline"), HasSubstr(file_.string())));
  for (const auto& [text, words] :
       {std::pair{"[]", "is not a JSON object"}, std::pair{"{}", "holds no levels"},
        std::pair{R"({"level": {}})", "'level' is no level"},
        std::pair{R"({"19": [{"sample_id": 0}]})", "'19' is no level"},
        std::pair{R"({"level1": []})", "level1 holds no problems"},
        std::pair{R"({"level1": {"1_A.py": 3}})", "level1, 1_A.py: mean is no number"},
        std::pair{R"({"level1": {"1_A.py": {"mean": "3"}}})", "level1, 1_A.py: mean is no number"},
        std::pair{R"({"level1": {"1_A.py": {"mean": 0}}})", "must be above 0"},
        std::pair{"{\"level1\"", "JSON"}}) {
    write(text);
    EXPECT_THAT(error(), AllOf(HasSubstr("eval.kernelbench_baseline"), HasSubstr(words))) << text;
  }
}

}  // namespace
}  // namespace temper::trainer
