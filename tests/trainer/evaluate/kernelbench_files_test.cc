#include "trainer/evaluate/kernelbench_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "tests/trainer/fixtures.h"

namespace temper::trainer {

namespace fs = std::filesystem;
using env::ComparableResult;
using env::RuntimeStats;
using env::VerdictKind;
using nlohmann::ordered_json;
using testing::HasSubstr;

namespace {

constexpr const char* kGpu = "NVIDIA H200";

RuntimeStats stats_of(double mean) { return {mean, 0.1 * mean, 0.9 * mean, 1.2 * mean, 100}; }

ComparableResult right_in(double ms, double ref_ms) {
  ComparableResult result;
  result.compiled = result.correctness = true;
  result.trials_right = result.trials = 5;
  result.runtime = stats_of(ms);
  result.ref_runtime = stats_of(ref_ms);
  return result;
}

ComparableResult wrong_by(double difference) {
  ComparableResult result;
  result.compiled = true;
  result.trials_right = 3;
  result.trials = 5;
  result.issue = "Output mismatch";
  result.max_difference = {difference, INFINITY};
  result.avg_difference = {difference / 2, NAN};
  result.ref_runtime = stats_of(2);
  return result;
}

ModuleAnswer answer_to(int64_t id, int64_t sample, const env::Verdict& verdict,
                       std::optional<ComparableResult> result) {
  ModuleAnswer answer{.task = fmt::format("level1_{}_p", id),
                      .problem = {.level = 1, .id = id, .file = fmt::format("{}_P.py", id)},
                      .sample = sample,
                      .code = "class ModelNew: pass\n",
                      .verdict = verdict};
  answer.verdict.gpu = kGpu;
  answer.verdict.comparable = std::move(result);
  return answer;
}

// Problem 2: twice and half as fast. 11: wrong, and not compiled. 100: right by KernelBench's count, a hack by ours.
std::vector<ModuleAnswer> two_samples() {
  ComparableResult broken;
  broken.error_name = "RuntimeError";
  broken.error = "Error building extension";
  broken.ref_runtime = stats_of(2);
  ComparableResult hack = right_in(0.5, 8);
  hack.excessive_speedup = true;
  return {answer_to(2, 0, passed(1.9), right_in(2, 4)),
          answer_to(2, 1, passed(0.6), right_in(8, 4)),
          answer_to(11, 0, failed(), wrong_by(0.25)),
          answer_to(11, 1, failed(VerdictKind::kFailCompile), broken),
          answer_to(100, 0, failed(VerdictKind::kHack), hack),
          answer_to(100, 1, failed(VerdictKind::kFailParse), {})};
}

// One such answer's entry.
ordered_json entry_for(const ComparableResult& result) {
  return eval_results({answer_to(1, 0, failed(), result)})["1"][0];
}

class KernelBenchFiles : public testing::Test {
 protected:
  ~KernelBenchFiles() override { fs::remove_all(root_); }

  // What the script prints.
  ordered_json read_by_script(const std::string& run) const {
    const std::string command =
        fmt::format("python3 '{}/tests/trainer/evaluate/kernelbench_reader.py' '{}' {} 1 NVIDIA_H200 2>&1",
                    TEMPER_SOURCE_DIR, root_.string(), run);
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text, part(4096, '\0');
    for (size_t n = 1; n > 0; text += part.substr(0, n)) n = fread(part.data(), 1, part.size(), pipe.get());
    const ordered_json read = ordered_json::parse(text, nullptr, false);
    EXPECT_FALSE(read.is_discarded()) << text;
    return read;
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_kernelbench_{}", ::getpid());
};

TEST_F(KernelBenchFiles, AScriptThatExpectsKernelBenchsFieldsReadsOurFigures) {
  const std::vector<ModuleAnswer> answers = two_samples();
  const auto folders = write_kernelbench_files(root_, "mine", {{"sampled", &answers}});
  ASSERT_EQ(folders.size(), 1);
  EXPECT_EQ(folders[0], root_ / "runs/mine_level1_sampled");
  const ordered_json read = read_by_script("mine_level1_sampled");
  std::vector<ModuleAnswer> first;
  for (const ModuleAnswer& answer : answers)
    if (answer.sample == 0) first.push_back(answer);
  const ModuleScore ours = comparable_score(first, module_baselines(answers));
  EXPECT_DOUBLE_EQ(read.at("compiled"), ours.compiled);
  EXPECT_DOUBLE_EQ(read.at("correct"), ours.correct);
  EXPECT_NEAR(read.at("geo_mean_speedup"), ours.speedup, 1e-9);
  EXPECT_NEAR(ours.speedup, std::sqrt(2.0 * 16.0), 1e-9);
  for (size_t i = 0; i < kKernelBenchCount; ++i)
    EXPECT_DOUBLE_EQ(read.at("fast_p").at(fmt::format("{:.1f}", kKernelBenchThresholds[i])), ours.fast[i]);
  // Of 2, both of two are right: 1. Of 11, none: 0. Of 100, one: 1/2 with one try, 1 with two.
  EXPECT_DOUBLE_EQ(read["pass_at_k"]["averages"]["avg_pass@1"], 0.5);
  EXPECT_DOUBLE_EQ(read["pass_at_k"]["averages"]["avg_pass@2"], 2.0 / 3);
  EXPECT_EQ(read["pass_at_k"]["metadata"]["total_correct_samples"], 3);
  EXPECT_EQ(read["pass_at_k"]["problems"]["100"]["pass@1"], 0.5);
}

TEST_F(KernelBenchFiles, OneSampleHasNoPassAtK) {
  const std::vector<ModuleAnswer> greedy{two_samples()[0]};
  write_kernelbench_files(root_, "mine", {{"greedy", &greedy}});
  EXPECT_FALSE(fs::exists(root_ / "runs/mine_level1_greedy/pass_at_k_results.json"));
  EXPECT_EQ(read_file(root_ / "runs/mine_level1_greedy/level_1_problem_2_sample_0_kernel.py"),
            "class ModelNew: pass\n");
  const ordered_json strict =
      ordered_json::parse(read_file(root_ / "runs/mine_level1_greedy/strict_results.json"));
  EXPECT_EQ(strict["2"][0]["verdict"], "PASS");
  EXPECT_EQ(strict["2"][0]["speedup"], 1.9);
}

TEST_F(KernelBenchFiles, BaselinesOfOtherLevelsStay) {
  const fs::path file = root_ / "results/timing/NVIDIA_H200/baseline_time_torch.json";
  fs::create_directories(file.parent_path());
  write_file_atomic(file, R"({"level2": {"9_Z.py": {"mean": 1}, "1_A.py": {}}, "level1": {"old.py": {}}})");
  const std::vector<ModuleAnswer> answers = two_samples();
  write_kernelbench_files(root_, "mine", {{"sampled", &answers}});
  const ordered_json all = ordered_json::parse(read_file(file));
  EXPECT_EQ(all["level2"].dump(), R"({"9_Z.py":{"mean":1},"1_A.py":{}})");
  EXPECT_FALSE(all["level1"].contains("old.py"));
  EXPECT_EQ(all["level1"]["100_P.py"]["mean"], 8);
  write_file_atomic(file, "[]");
  EXPECT_THROW(write_kernelbench_files(root_, "mine", {{"sampled", &answers}}), ConfigError);
}

TEST(KernelBenchResults, SayWhenAnErrorCame) {
  ComparableResult result;
  result.error_name = "SyntaxError";
  result.error = std::string(300, 'x');
  ordered_json entry = entry_for(result);
  EXPECT_EQ(entry["compiled"], false);
  EXPECT_EQ(entry["metadata"]["compilation_error"], std::string(300, 'x'));
  EXPECT_EQ(entry["metadata"]["compilation_error_name"], "SyntaxError");
  result.compiled = true;
  result.trials = 5;
  result.traceback = "Traceback";
  entry = entry_for(result);
  EXPECT_EQ(entry["compiled"], true);
  EXPECT_EQ(entry["metadata"]["runtime_error"], std::string(197, 'x') + "...");
  EXPECT_EQ(entry["metadata"]["runtime_error_traceback"], "Traceback");
  EXPECT_FALSE(entry["metadata"].contains("correctness_trials"));  // an exception ends the trials
  result.correctness = true;
  entry = entry_for(result);
  EXPECT_EQ(entry["metadata"]["error_during_performance"], std::string(300, 'x'));
  EXPECT_EQ(entry["runtime"], -1.0);
}

TEST(KernelBenchResults, SayHowTrialsWentAndWhatWasWrong) {
  const ordered_json wrong = entry_for(wrong_by(0.25))["metadata"];
  EXPECT_EQ(wrong["max_difference"], ordered_json({"0.250000", "inf"}));
  EXPECT_EQ(wrong["avg_difference"], ordered_json({"0.125000", "nan"}));
  EXPECT_EQ(wrong["correctness_issue"], "Output mismatch");
  EXPECT_FALSE(wrong.contains("correctness_issue_name"));
  EXPECT_EQ(wrong["correctness_trials"], "(3 / 5)");
  ComparableResult shape;
  shape.compiled = true;
  shape.trials = 5;
  shape.issue = "Output shape mismatch: Expected torch.Size([2]), got torch.Size([3])";
  const ordered_json other = entry_for(shape)["metadata"];
  EXPECT_EQ(other["correctness_issue_name"], "correctness_issue");
  EXPECT_FALSE(other.contains("correctness_trials"));
  EXPECT_EQ(entry_for(right_in(1, 20))["metadata"]["correctness_trials"], "(5 / 5)");
}

TEST(KernelBenchResults, ATimeoutIsNotCompiledAndInfraIsLeftOut) {
  ComparableResult late = right_in(1, 1);
  late.timed_out = true;
  const ordered_json entry = entry_for(late);
  EXPECT_EQ(entry["compiled"], false);
  EXPECT_EQ(entry["correctness"], false);
  EXPECT_EQ(entry["metadata"], ordered_json({{"error", "Evaluation timed out"}}));
  EXPECT_TRUE(eval_results({answer_to(1, 0, failed(VerdictKind::kInfra), {})}).empty());
}

}  // namespace
}  // namespace temper::trainer
