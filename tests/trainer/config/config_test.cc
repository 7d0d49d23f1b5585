#include "trainer/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const std::string& path, const std::vector<std::string>& words) {
  try {
    read_config(path, words);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Config, DefaultsHoldTogether) { EXPECT_EQ(read_config("", {}).run.name, "run"); }

TEST(Config, SavedConfigReadsBackIdentically) {
  const RunConfig config =
      read_config("", {"run.seed=7", "model.hidden_size=64", "optimizer.lr=0.1", "tasks.names=[a, b]",
                       "env.cache='.cache/v: 1'", "rollout.stop_on_pass=true", "run.name=1e3"});
  const fs::path file = fs::temp_directory_path() / fmt::format("temper_config_{}.yaml", ::getpid());
  write_file_atomic(file, to_yaml(config));
  const RunConfig again = read_config(file.string(), {});
  fs::remove(file);
  EXPECT_EQ(to_yaml(again), to_yaml(config));
  EXPECT_EQ(again.run.name, "1e3");
  EXPECT_EQ(again.env.cache, ".cache/v: 1");
  EXPECT_EQ(again.tasks.names, (std::vector<std::string>{"a", "b"}));
}

TEST(Config, GivenWeightsAreFineTunedAtALowRate) {
  const auto rate = [](const std::vector<std::string>& words) {
    return read_config("", words).cold_start.optimizer.lr;
  };
  EXPECT_EQ(rate({}), 0.003);
  EXPECT_EQ(rate({"model.path=x"}), kFineTuningRate);
  EXPECT_EQ(rate({"model.path=x", "cold_start.optimizer.lr=0.003"}), 0.003);
  EXPECT_THAT(error_of("", {"model.path=x", "optimiser.lr=1"}), HasSubstr("optimiser.lr: unknown option"));
}

TEST(Config, NameComesFromTheFile) {
  EXPECT_EQ(read_config(TEMPER_SOURCE_DIR "/configs/quickstart.yaml", {}).run.path(), "runs/quickstart");
  EXPECT_EQ(read_config("", {"run.name=x", "run.dir=/elsewhere"}).run.path(), "/elsewhere");
}

TEST(Config, ReportsEveryProblemAtOnce) {
  EXPECT_THAT(
      error_of("", {"optimiser.lr=1", "rollout.top_k=-1", "run.steps=many", "model.num_attention_heads=3"}),
      AllOf(HasSubstr("command line: optimiser.lr: unknown option; did you mean optimizer.lr or "
                      "cold_start.optimizer.lr?"),
            HasSubstr("rollout.top_k"), HasSubstr("run.steps: 'many' is not an integer"),
            HasSubstr("model.num_")));
}

TEST(Config, RefusesWhatContradictsItself) {
  EXPECT_THAT(error_of("", {"rollout.max_response_tokens=512", "rollout.max_context_tokens=512"}),
              HasSubstr("rollout.max_context_tokens: 512 leaves no room for a prompt"));
  EXPECT_THAT(error_of("", {"rollout.max_context_tokens=4096"}),
              HasSubstr("model.max_position_embeddings, 1024"));
  EXPECT_THAT(error_of("", {"learner.updates_per_batch=65"}),
              HasSubstr("65 is more than the 64 trajectories"));
  EXPECT_THAT(error_of("", {"rollout.temperature=0"}), HasSubstr("rollout.temperature: 0 samples nothing"));
  EXPECT_THAT(error_of("", {"rollout.samples_per_task=1", "advantage.name=grpo"}),
              HasSubstr("nothing to compare with"));
  EXPECT_THAT(error_of("", {"loss.dual_clip=1.1"}), HasSubstr("loss.dual_clip: 1.1 must be 0 or above"));
  EXPECT_THAT(error_of("", {"reward.name=log_speedup", "reward.log_floor=-2"}),
              HasSubstr("reward.log_floor: -2 pays a slow right answer"));
  EXPECT_THAT(error_of("", {"env.min_pairs=9", "env.max_pairs=7"}),
              HasSubstr("env.min_pairs: 9 is more than"));
}

TEST(Config, AllowsGreedyRolloutsWhereNothingIsLearned) {
  EXPECT_EQ(read_config("", {"rollout.temperature=0", "run.steps=0"}).run.steps, 0);
}

TEST(Config, TakesTasksOfOneLanguage) {
  const auto languages_of = [](const std::vector<std::string>& words) {
    std::set<std::string> languages;
    for (const env::Task& task : load_tasks(read_config("", words))) languages.insert(task.language);
    return languages;
  };
  const std::string all = "tasks.path=" TEMPER_SOURCE_DIR "/env/tasks";
  EXPECT_EQ(languages_of({all}), std::set<std::string>{"cpp"});
  EXPECT_EQ(languages_of({all, "tasks.language=cuda"}), std::set<std::string>{"cuda"});
  EXPECT_EQ(languages_of({all + "/cuda"}), std::set<std::string>{"cuda"});
  EXPECT_EQ(languages_of({all, "tasks.names=[gpu_softmax]"}), std::set<std::string>{"cuda"});
  EXPECT_THROW(languages_of({all + "/cpp", "tasks.language=cuda"}), ConfigError);
}

// Tasks in CUDA can be solved in Triton as well, and then no verdict of one counts for the other.
TEST(Config, AsksTasksOfGpusInTriton) {
  const std::string all = "tasks.path=" TEMPER_SOURCE_DIR "/env/tasks";
  const auto cuda = load_tasks(read_config("", {all, "tasks.language=cuda"}));
  const auto triton = load_tasks(read_config("", {all, "tasks.language=triton"}));
  ASSERT_EQ(triton.size(), cuda.size());
  for (size_t i = 0; i < cuda.size(); ++i) {
    EXPECT_EQ(triton[i].name, cuda[i].name);
    EXPECT_EQ(triton[i].language, "triton");
    EXPECT_NE(triton[i].digest(), cuda[i].digest());
  }
  const auto named = load_tasks(read_config("", {all, "tasks.language=triton", "tasks.names=[gpu_softmax]"}));
  EXPECT_EQ(named.at(0).language, "triton");
  try {
    load_tasks(read_config("", {all, "tasks.language=triton", "tasks.names=[softmax_scaled]"}));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("task 'softmax_scaled' is in cpp and cannot be solved in triton"));
  }
}

TEST(Config, RefusesMoreTasksPerStepThanThereAre) {
  const RunConfig config = read_config("", {"rollout.tasks_per_step=3"});
  std::vector<env::Task> tasks(2);
  for (env::Task& task : tasks) task.split = "train";
  try {
    check_tasks(config, tasks);
    FAIL() << "no error";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("rollout.tasks_per_step: 3 is more than the 2 tasks to learn from"),
                                HasSubstr("eval.split: no task of tasks.path env/tasks is heldout")));
  }
}

}  // namespace
}  // namespace temper::trainer
