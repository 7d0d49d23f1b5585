#include "trainer/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "policy/text/tokenizer.h"
#include "trainer/config/prompt_style.h"

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

class OwnPrompts : public testing::Test {
 protected:
  OwnPrompts() { fs::create_directories(dir_); }
  ~OwnPrompts() override { fs::remove_all(dir_); }
  std::string file(const std::string& name, const std::string& text) const {
    write_file((dir_ / name).string(), text);
    return (dir_ / name).string();
  }
  const fs::path dir_ = fs::temp_directory_path() / fmt::format("temper_own_prompts_{}", ::getpid());
};

TEST_F(OwnPrompts, AFieldThatNobodyKnowsIsNamedWithRunFileOptionTextAndLine) {
  file("first.txt", "{problem}\n{problen}");
  const std::string run =
      file("run.yaml", "rollout:\n  prompt:\n    first: first.txt\n    system: 'You are {x}'\n");
  const std::string why = error_of(run, {});
  EXPECT_THAT(why, HasSubstr("run.yaml:3: rollout.prompt.first: " + (dir_ / "first.txt").string() +
                             ":2: {problen} is no field; did you mean problem?"));
  EXPECT_THAT(why, HasSubstr("run.yaml:4: rollout.prompt.system: text:1: {x} is no field"));
}

TEST_F(OwnPrompts, APathInARunFileIsAlsoLookedForBesideIt) {
  file("first.txt", "beside {problem}");
  const std::string run = file("run.yaml", "rollout: {prompt: {first: first.txt}}\n");
  EXPECT_EQ(read_config(run, {}).rollout.context.prompt.first_text.text(), "beside {problem}");
  EXPECT_THAT(error_of(run, {"rollout.prompt.first=first.txt"}), HasSubstr("first.txt: no such file"));
  EXPECT_THAT(error_of(run, {"rollout.prompt.later=later.txt"}),
              HasSubstr("command line: rollout.prompt.later: later.txt: no such file"));
  const std::string lost = file("lost.yaml", "rollout: {prompt: {later: later.txt}}\n");
  EXPECT_THAT(error_of(lost, {}), HasSubstr("later.txt: no such file here, nor beside " + lost));
  EXPECT_THAT(error_of("", {"rollout.prompt.system=a", "rollout.prompt.system_file=" + run}),
              HasSubstr("rollout.prompt.system_file is given too"));
}

TEST_F(OwnPrompts, TheStyleIsDecidedByTheModel) {
  const auto style = [](const std::vector<std::string>& words) {
    RunConfig config = read_config("", words);
    decide_prompt_style(config);
    return config.rollout.context.prompt.style;
  };
  const std::string path = "model.path=" + dir_.string();
  EXPECT_EQ(style({}), "short");
  EXPECT_EQ(style({"model.path=models/Qwen3-8B"}), "sentences");
  file("config.json", "{}");
  EXPECT_EQ(style({path}), "sentences");
  policy::Tokenizer::train({"a b c d e f g h i j k l m n o p"}, 400).save(dir_);
  EXPECT_EQ(style({path}), "short");
  EXPECT_EQ(style({path, "rollout.prompt.style=sentences"}), "sentences");
  file("tokenizer_config.json", "[");
  EXPECT_EQ(style({path}), "sentences");
}

TEST(Config, ALanguageThatNoTaskIsInNamesThoseThatThereAre) {
  const auto why = [](const std::string& path, const std::string& language = "triton") {
    try {
      load_tasks(read_config("", {"tasks.path=" + path, "tasks.language=" + language}));
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(why(TEMPER_SOURCE_DIR "/env/tasks/cpp"), HasSubstr("is triton; there are tasks in: cpp"));
  const fs::path problem = fs::temp_directory_path() / fmt::format("1_A_{}.py", ::getpid());
  write_file(problem,
             "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n"
             "def get_inputs():\n    return [torch.rand(4)]\n\ndef get_init_inputs():\n    return []\n");
  EXPECT_THAT(why(problem.string(), "cpp"), AllOf(HasSubstr("there are tasks in: kernelbench"),
                                                  HasSubstr("take tasks.language=kernelbench")));
  // A recipe's language is then what kernels are asked in.
  for (const auto& [language, rule, triton] :
       {std::tuple("triton", "one_shot", true), std::tuple("cuda", "drkernel", false),
        std::tuple("kernelbench", "drkernel", true), std::tuple("auto", "kevin", false)}) {
    const RunConfig config =
        read_config("", {"tasks.path=" + problem.string(), fmt::format("tasks.language={}", language),
                         fmt::format("rollout.prompt.rule={}", rule)});
    EXPECT_EQ(load_tasks(config).at(0).language, "kernelbench");
    EXPECT_EQ(tasks_in_language(config).size(), 1u);
    EXPECT_EQ(config.rollout.context.prompt.in_triton(), triton) << language << rule;
  }
  fs::remove(problem);
}

}  // namespace
}  // namespace temper::trainer
