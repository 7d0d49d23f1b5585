// A save that crashes or fails at any system call it makes leaves a checkpoint that can be gone on from.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "policy/parameters/parameter_store.h"
#include "tests/policy/text/tokenizer_fixture.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/checkpoint/saver.h"
#include "trainer/config/config.h"
#include "trainer/run/run_directory.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Model small_model() {
  policy::Tokenizer tokenizer = policy::code_tokenizer(400);
  policy::ModelConfig config;
  config.vocab_size = tokenizer.vocab_size();
  config.hidden_size = config.intermediate_size = 16;
  config.num_hidden_layers = config.num_attention_heads = config.num_key_value_heads = 1;
  config.head_dim = 16;
  return {policy::Policy(config, {}), std::move(tokenizer)};
}

class Checkpoints : public testing::Test {
 protected:
  Checkpoints() { fs::create_directories(folder_); }
  ~Checkpoints() override {
    watch_file_calls({});
    fs::remove_all(root_);
  }

  // What a policy has learned after `step` steps.
  void learn(int64_t step) {
    model_.policy.parameters().init_random(uint64_t(step));
    model_.policy.parameters().moment1().fill_(double(step));
    model_.policy.parameters().moment2().fill_(double(2 * step));
  }

  static Manifest manifest(int64_t step, double metric = 0) {
    Manifest manifest;
    manifest.step = manifest.updates = step;
    manifest.metric = metric;
    return manifest;
  }

  // The saver's own failures.
  int64_t save(int64_t step, CheckpointOptions options = {.keep = 1}, double metric = 0) {
    learn(step);
    CheckpointSaver saver(folder_, options, model_);
    saver.save(manifest(step, metric), 0);
    learn(99);  // it must have a copy of its own
    saver.finish();
    return saver.failed();
  }

  // The newest that is whole, its content compared; −1: none.
  int64_t newest_whole() {
    for (const fs::path& dir : list_checkpoints(folder_)) {
      try {
        const Checkpoint checkpoint = read_checkpoint(dir);
        verify_files(checkpoint);
        restore_policy(checkpoint, model_.policy);
        const at::Tensor found = model_.policy.parameters().weights().clone();
        EXPECT_TRUE(at::all(model_.policy.parameters().moment2() == double(2 * checkpoint.manifest.step))
                        .item<bool>());
        learn(checkpoint.manifest.step);
        EXPECT_TRUE(at::equal(found, model_.policy.parameters().weights()));
        return checkpoint.manifest.step;
      } catch (const std::exception&) {
        continue;
      }
    }
    return -1;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_checkpoints_{}", ::getpid());
  const fs::path folder_ = root_ / "checkpoints";
  Model model_ = small_model();
};

TEST_F(Checkpoints, SurviveACrashInFrontOfEachSystemCall) {
  ASSERT_EQ(save(1), 0);
  int calls = 0;
  for (bool crashed = true; crashed; ++calls) {
    ASSERT_LT(calls, 500);
    const pid_t child = ::fork();
    if (child == 0) {
      int call = 0;
      watch_file_calls([&](const char*, const fs::path&) {
        if (call++ == calls) ::_exit(7);
      });
      save(2);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    crashed = WEXITSTATUS(status) == 7;
    const int64_t found = newest_whole();
    ASSERT_TRUE(found == 2 || (crashed && found == 1)) << "call " << calls << ": " << found;
    if (found == 2) {  // back to where it was
      for (const auto& name : names()) fs::remove_all(folder_ / name);
      ASSERT_EQ(save(1), 0);
    }
  }
  EXPECT_GT(calls, 30);
}

TEST_F(Checkpoints, SurviveTheFailureOfEachSystemCall) {
  ASSERT_EQ(save(1), 0);
  int failures = 0;
  bool came = true;
  for (int n = 0; came; ++n) {
    int seen = 0;
    came = false;
    watch_file_calls([&](const char* call, const fs::path& path) {
      if (seen++ != n) return;
      came = true;
      throw WorldError("cannot {} {}: No space left on device", call, path.string());
    });
    const int64_t failed = save(2);
    watch_file_calls({});
    failures += int(failed);
    const int64_t found = newest_whole();
    ASSERT_TRUE(found == 1 || found == 2) << n;
    if (failed == 0) {
      EXPECT_EQ(found, 2) << n;
    }
    for (const std::string& name : names()) EXPECT_THAT(name, testing::Not(HasSubstr(".tmp"))) << n;
    fs::remove_all(folder_ / "step_000002");
    fs::remove_all(folder_ / "step_000001.removed");
    if (!fs::exists(folder_ / "step_000001")) {
      ASSERT_EQ(save(1), 0);
    }
  }
  EXPECT_GT(failures, 25);
}

// With a digest that is right: whoever makes a file can make that too.
std::string with_digest(nlohmann::json json) {
  json.erase("sha256");
  json["sha256"] = sha256(json.dump());
  return json.dump();
}

TEST_F(Checkpoints, ANumberThatIsNoIntegerIsRefused) {
  const nlohmann::json whole = nlohmann::json::parse(to_text(manifest(3)));
  EXPECT_EQ(manifest_from(with_digest(whole)).step, 3);
  for (const char* key : {"step", "updates", "vocabulary", "records", "parameters"})
    for (const char* value : {"1e300", "0.5", "-1e19", "true", "[1e300]"}) {
      nlohmann::json json = whole;
      json[key] = nlohmann::json::parse(value);
      EXPECT_THROW(manifest_from(with_digest(json)), ConfigError) << key << " " << value;
    }
}

TEST_F(Checkpoints, AManifestHoldsWhatASpikeIsMeasuredBy) {
  Manifest made = manifest(3);
  made.gradient_norms = {0.1, 2, 1e-300};
  EXPECT_EQ(manifest_from(to_text(made)).gradient_norms, made.gradient_norms);
  EXPECT_TRUE(manifest_from(to_text(made)).left_out.empty());
  made.left_out = {{"level1_19_relu", "weak"}};
  EXPECT_EQ(manifest_from(to_text(made)).left_out, made.left_out);
  nlohmann::json json = nlohmann::json::parse(to_text(made));
  json["gradient_norms"] = {0.1, "two"};
  EXPECT_THROW(manifest_from(with_digest(json)), ConfigError);
}

TEST_F(Checkpoints, AManifestThatNestsDeepIsRefused) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THROW(
      manifest_from("{\"format\": \"temper checkpoint\", \"version\": 1, \"evaluations\": " + deep + "}"),
      ConfigError);
}

TEST_F(Checkpoints, OneIsThereAtEachMomentWhileTheSameStepIsSavedAgain) {
  ASSERT_EQ(save(1), 0);
  int calls = 0;
  watch_file_calls([&](const char* call, const fs::path& path) {
    ++calls;
    EXPECT_TRUE(fs::exists(folder_ / "step_000001/manifest.json")) << "in front of " << call << " " << path;
  });
  EXPECT_EQ(save(1), 0);
  watch_file_calls({});
  EXPECT_GT(calls, 20);
  EXPECT_EQ(newest_whole(), 1);
  EXPECT_THAT(names(), testing::ElementsAre("step_000001"));
}

TEST_F(Checkpoints, OneWhoseReplacementNeverCameIsPutBack) {
  ASSERT_EQ(save(1), 0);
  fs::rename(folder_ / "step_000001", replaced_name(folder_ / "step_000001"));
  EXPECT_EQ(newest_whole(), 1);
  EXPECT_THAT(names(), testing::ElementsAre("step_000001"));
}

TEST_F(Checkpoints, TheLastAndTheBestAreKept) {
  for (const auto& [step, metric] : std::map<int64_t, double>{{1, 3}, {2, 5}, {3, 4}, {4, 1}, {5, 2}})
    ASSERT_EQ(save(step, {.keep = 2, .best = "reward"}, metric), 0);
  EXPECT_THAT(names(), testing::ElementsAre("step_000002", "step_000004", "step_000005"));
  ASSERT_EQ(save(6, {.keep = 1}), 0);
  EXPECT_THAT(names(), testing::ElementsAre("step_000006"));
}

TEST_F(Checkpoints, ManifestsKeepAllTheySay) {
  Manifest m = manifest(3, std::numeric_limits<double>::quiet_NaN());
  m.config = {{"optimizer.lr", "1e-06"}};
  m.seconds = 0.1;
  m.records = {{"metrics.jsonl", 12}};
  m.evaluations = {{{"name", "before"}}};
  m.ranks = {{{"rank_00000.safetensors", 5, "ab"}, {{"model.norm.weight", 7}}, 9}};
  EXPECT_FALSE(manifest_from(to_text(m)).cold_start.has_value());
  m.cold_start = ColdStartPlace{5, 700, 0.25, "cd"};
  const std::string text = to_text(m);
  EXPECT_EQ(to_text(manifest_from(text)), text);
  EXPECT_EQ(manifest_from(text).cold_start->tokens, 700);
  const size_t digit = text.find("0.1");
  ASSERT_NE(digit, std::string::npos);
  EXPECT_THROW(manifest_from(std::string(text).replace(digit, 3, "0.2")), ConfigError);
  EXPECT_THROW(manifest_from(text.substr(0, text.size() / 2)), ConfigError);
}

TEST_F(Checkpoints, StepsComeAfterTheColdStart) {
  Manifest within = manifest(0, 0);
  within.cold_start = ColdStartPlace{500, 0, 0, ""};
  EXPECT_EQ(checkpoint_name(within), "cold_start_000500");
  EXPECT_EQ(checkpoint_name(manifest(7, 0)), "step_000007");
  for (const char* name :
       {"cold_start", "cold_start_000500", "cold_start_001000", "step_000000", "cold_start_5.tmp"})
    fs::create_directories(folder_ / "moments" / name);
  std::vector<std::string> found;
  for (const fs::path& dir : list_checkpoints(folder_ / "moments")) found.push_back(dir.filename().string());
  EXPECT_EQ(found, (std::vector<std::string>{"step_000000", "cold_start_001000", "cold_start_000500"}));
  EXPECT_TRUE(is_later("a/cold_start_001000", within));
  EXPECT_TRUE(is_later("a/step_000000", within));
  EXPECT_FALSE(is_later("a/cold_start_000500", within));
  EXPECT_FALSE(is_later("a/cold_start_000900", manifest(7, 0)));
}

TEST_F(Checkpoints, OptionsThatChangeWhatIsLearnedAreNamed) {
  const RunConfig before = read_config("", {});
  const RunConfig now =
      read_config("", {"optimizer.lr=1e-3", "run.steps=7", "env.lanes=3", "checkpoint.keep=9"});
  EXPECT_EQ(changed_options(to_map(before), now), "optimizer.lr is 0.001, was 1e-06");
  EXPECT_EQ(changed_options({}, before), "");
  RunConfig asked = before;  // an older program's prompts were short, and it had no option for them
  asked.rollout.context.prompt.style = "short";
  EXPECT_EQ(changed_options({}, asked), "");
  asked.rollout.context.prompt.style = "sentences";
  EXPECT_EQ(changed_options({}, asked), "rollout.prompt.style is sentences, was short");
}

// How a run is saved, and how its ranks watch each other, decides nothing of what is learned.
TEST_F(Checkpoints, AllOptionsOfCheckpointsAndRanksMayChange) {
  const std::set<std::string> may_change = keys_that_may_change();
  for (const auto& [key, value] : to_map(read_config("", {})))
    if (key.starts_with("checkpoint.") || key.starts_with("ranks.")) {
      EXPECT_TRUE(may_change.contains(key)) << key;
    }
  EXPECT_FALSE(may_change.contains("optimizer.lr"));
}

TEST_F(Checkpoints, AnotherShapeIsNamed) {
  ASSERT_EQ(save(1), 0);
  Checkpoint checkpoint = read_checkpoint(folder_ / "step_000001");
  RunConfig config = read_config("", {"tasks.path=" TEMPER_SOURCE_DIR "/env/tasks"});
  checkpoint.manifest.config = to_map(config);
  checkpoint.manifest.tasks = digest_of(load_tasks(config));
  checkpoint.manifest.parameters = shapes_of(config.model.shape);
  EXPECT_EQ(misfit(checkpoint, config), "");
  checkpoint.manifest.parameters.erase("model.layers.1.mlp.down_proj.weight");
  EXPECT_EQ(misfit(checkpoint, config), "it has no parameter model.layers.1.mlp.down_proj.weight");
  checkpoint.manifest.parameters = shapes_of(config.model.shape);
  checkpoint.manifest.parameters["model.norm.weight"] = {3};
  EXPECT_EQ(misfit(checkpoint, config), "its model.norm.weight is [3], the model's [128]");
  checkpoint.manifest.words["first"] = "{problem}";
  EXPECT_THAT(misfit(checkpoint, config), HasSubstr("rollout.prompt.first is not given now"));
  checkpoint.manifest.words.clear();
  checkpoint.manifest.tasks = "";
  EXPECT_THAT(misfit(checkpoint, config), HasSubstr("have changed"));
}

}  // namespace
}  // namespace temper::trainer
