#include "env/verdict/compiled_baselines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "env/task/task_numbers.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

class Baselines : public testing::Test {
 protected:
  Baselines()
      : path_(std::filesystem::temp_directory_path() / fmt::format("compiled_baselines_{}", ::getpid())) {}
  ~Baselines() override { std::filesystem::remove(path_); }

  static Json entry(const std::string& digest, double ratio) {
    return {{"task", "gpu_" + digest},
            {"digest", digest},
            {"gpu", "NVIDIA H200"},
            {"torch", std::string(CompiledBaselines::torch_version()) + "+cu130"},
            {"ratio", ratio}};
  }
  CompiledBaselines read(const Json& entries) {
    std::ofstream(path_) << Json{{"format", 1}, {"baselines", entries}};
    return CompiledBaselines(path_.string());
  }
  std::string complaint(const std::string& text) {
    std::ofstream(path_) << text;
    try {
      CompiledBaselines(path_.string());
    } catch (const ConfigError& error) {
      std::string words = error.what();
      const size_t at = words.find(path_.string());
      return at == std::string::npos ? words : words.replace(at, path_.string().size(), "FILE");
    }
    return "";
  }
  std::string complaint(const char* field, const Json& value) {
    Json one = entry("a", 2);
    one[field] = value;
    return complaint(Json{{"format", 1}, {"baselines", {entry("b", 1), one}}}.dump());
  }

  const std::filesystem::path path_;
};

Verdict timed(double speedup, const std::string& gpu = "NVIDIA H200") {
  Verdict verdict;
  verdict.kind = VerdictKind::kPass;
  verdict.candidate_us = 10;
  verdict.baseline_us = 10 * speedup;
  verdict.speedup = speedup;
  verdict.gpu = gpu;
  return verdict;
}

TEST_F(Baselines, AreFoundByTaskGpuAndTorch) {
  Json old = entry("b", 4);
  old["torch"] = "2.10.0+cu130";
  const auto baselines = read({entry("a", 2), old, entry("unknown_task", 3)});
  EXPECT_EQ(baselines.speedup("a", timed(3)), 1.5);
  EXPECT_EQ(baselines.speedup("b", timed(3)), std::nullopt) << "of another torch";
  EXPECT_EQ(baselines.speedup("c", timed(3)), std::nullopt);
  EXPECT_EQ(baselines.speedup("a", timed(3, "NVIDIA H100")), std::nullopt);
  EXPECT_EQ(baselines.speedup("a", timed(3, "")), std::nullopt) << "of no GPU";
  Verdict untimed = timed(3);
  untimed.candidate_us = 0;
  EXPECT_EQ(baselines.speedup("a", untimed), std::nullopt);
}

TEST_F(Baselines, OfSeveralVersionsOfTritonAndDriverTheLastCounts) {
  EXPECT_EQ(read({entry("a", 2), entry("a", 4)}).speedup("a", timed(3)), 0.75);
}

TEST_F(Baselines, WithoutAFileThereAreNone) {
  EXPECT_EQ(CompiledBaselines("").speedup("a", timed(3)), std::nullopt);
}

TEST_F(Baselines, BadFilesAreNamedWithEntryAndField) {
  EXPECT_EQ(complaint("ratio", -1),
            "env.compiled_baselines: FILE, entry 2 (gpu_a), ratio: -1; a number above 0 is needed");
  EXPECT_EQ(complaint("ratio", "2"),
            "env.compiled_baselines: FILE, entry 2 (gpu_a), ratio: \"2\"; a number above 0 is needed");
  EXPECT_EQ(complaint("gpu", ""),
            "env.compiled_baselines: FILE, entry 2 (gpu_a), gpu: \"\"; a text is needed");
  EXPECT_EQ(complaint("task", 7), "env.compiled_baselines: FILE, entry 2, task: 7; a text is needed");
  EXPECT_EQ(complaint(R"({"format": 1, "baselines": [{"task": "t"}]})"),
            "env.compiled_baselines: FILE, entry 1 (t), digest: is missing");
  EXPECT_EQ(complaint(R"({"format": 1, "baselines": [3]})"),
            "env.compiled_baselines: FILE, entry 1: 3; an object is needed");
  EXPECT_EQ(complaint(R"({"format": 2, "baselines": []})"),
            "env.compiled_baselines: FILE, format: 2; 1 is needed");
  EXPECT_EQ(complaint("{"), "env.compiled_baselines: FILE is not JSON: byte 2, at '{'");
  EXPECT_EQ(complaint("{\"format\": " + std::string(100, '[')),
            "env.compiled_baselines: FILE: is nested more than 32 deep");
  for (const char* text : {"[]", R"({"format": 1})", R"({"format": 1, "baselines": 3})"})
    EXPECT_EQ(complaint(text), "env.compiled_baselines: FILE: not a file of tools/compiled_baselines")
        << text;
  std::filesystem::remove(path_);
  EXPECT_THROW(CompiledBaselines(path_.string()), ConfigError);
}

TEST(TaskNumbers, SayEverySizeAndScale) {
  const auto tasks = parse_tasks(
      "{name: t, language: cuda, reference: 'x @ w', inputs: {x: {shape: [n, k], type: bf16}, "
      "w: {shape: [k, 8], scale: 1/sqrt(k), nonfinite: true}, b: {shape: [n], distinct: [-1, 2]}, "
      "i: {shape: [8], type: i32, below: n}, u: {shape: [1], uniform: [0, 3]}}, "
      "outputs: {y: {shape: [n, 8], type: f16}}, check: [{n: 3, k: 5}], timed: {n: 32, k: 16}, "
      "magnitudes: [4, 1]}",
      "t.yaml");
  const Json json = Json::parse(tasks_in_numbers(tasks));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["digest"], tasks[0].digest());
  EXPECT_EQ(json[0]["timed"]["shape"], (Json{{"n", 32}, {"k", 16}}));
  const Json& inputs = json[0]["timed"]["inputs"];
  EXPECT_EQ(inputs[0]["sizes"], (Json{32, 16}));
  EXPECT_EQ(inputs[0]["type"], "bf16");
  EXPECT_EQ(inputs[0]["normal"], 4);
  EXPECT_EQ(inputs[1]["normal"], 1);  // 4 / sqrt(16)
  EXPECT_EQ(inputs[1]["nonfinite"], true);
  EXPECT_EQ(inputs[2]["distinct"], (Json{-1, 2}));
  EXPECT_EQ(inputs[3]["below"], 32);
  EXPECT_EQ(inputs[4]["uniform"], (Json{0, 3}));
  EXPECT_EQ(json[0]["timed"]["outputs"][0]["type"], "f16");
  EXPECT_EQ(json[0]["checks"][0]["inputs"][3]["below"], 3);
}

}  // namespace
}  // namespace temper::env
