#pragma once
// The configuration of a run: all options of all parts, read from one YAML file and key=value arguments.

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/judge/judge.h"
#include "env/task/module_reader.h"
#include "env/task/task.h"
#include "policy/chat/choice.h"
#include "policy/model_config.h"
#include "policy/policy.h"
#include "rollout/rollout.h"
#include "rollout/traces/traces.h"
#include "trainer/algorithm/advantage.h"
#include "trainer/algorithm/loss.h"
#include "trainer/algorithm/rejection.h"
#include "trainer/algorithm/returns.h"
#include "trainer/algorithm/reward.h"
#include "trainer/checkpoint/options.h"
#include "trainer/cold_start/cold_start.h"
#include "trainer/config/rank_options.h"
#include "trainer/evaluate/options.h"
#include "trainer/learn/learner.h"
#include "trainer/learn/optimizer.h"

namespace temper::trainer {

struct RunOptions {
  std::string name = "";  // empty: the config file's, without .yaml
  std::string dir = "";   // empty: runs/NAME
  bool overwrite = false;
  int64_t seed = 1;
  int64_t steps = 100;
  double max_seconds = 0;
  int64_t threads = 0;
  std::string trajectories = "raw";
  void visit(OptionVisitor& v);
  std::filesystem::path path() const;
};

struct ModelOptions {
  std::string path = "";  // empty: a new policy of `shape`
  std::string chat_format = "auto";
  OptionMap chat_arguments;
  std::string chat_date = "";
  policy::ModelConfig shape;
  std::string device = "auto";
  policy::MemoryOptions memory;
  bool allow_not_finite = false;
  void visit(OptionVisitor& v);
  // model.device must be decided: trainer/config/device.h.
  policy::PolicyOptions policy() const;
  // What runs the templates of models; not an option, but given by the program. Null: nothing does.
  const policy::ChatRenderer* renderer = nullptr;
  policy::ChatSource chat() const;
};

struct TaskOptions {
  std::string path = "env/tasks";
  std::string language = "auto";
  std::vector<std::string> names = {};  // empty: all
  std::vector<std::string> learn = {env::Split::kTrain};
  std::string order = "dealt";
  double least_weight = 0.2;
  std::string weak = "leave_out";
  env::ModuleOptions problems = {};  // of problems in PyTorch
  void visit(OptionVisitor& v);
  // The file or folder of the tasks. The default is also looked for beside the program if the working directory does
  // not have it. Errors: ConfigError naming the folders.
  std::filesystem::path place() const;
};

struct RunConfig {
  RunOptions run;
  ModelOptions model;
  TaskOptions tasks;
  env::JudgeOptions env = {.again = 0.05};
  traces::TraceOptions traces;
  ColdStartOptions cold_start;
  rollout::RolloutOptions rollout;
  RewardOptions reward;
  ReturnOptions returns;
  AdvantageOptions advantage;
  LossOptions loss;
  RejectionOptions rejection;
  LearnerOptions learner;
  OptimizerOptions optimizer;
  EvalOptions eval;
  CheckpointOptions checkpoint;
  RankOptions ranks;
  void visit(OptionVisitor& v);
  // A new policy has one; a model that is given has one where there is data for it.
  bool has_cold_start() const { return model.path.empty() || !cold_start.data.empty(); }
  // Adds what no option can know of the others.
  void check(Problems& problems) const;
};

// Where model.path is given, the default of cold_start.optimizer.lr is kFineTuningRate. Reads the texts that rollout.prompt names,
// too; a path in the file is also looked for beside the file. Errors: ConfigError with every problem of the file, the words and
// their combination, and of those texts.
RunConfig read_config(const std::string& path, const std::vector<std::string>& overrides);

std::string to_yaml(const RunConfig& config);                        // reads back to the same values
std::set<std::string> keys_that_may_change();                        // OptionInfo::may_change
std::map<std::string, std::string> to_map(const RunConfig& config);  // "optimizer.lr" → "1e-06"

// `path`, which is relative, where it is here; else beside the program, as that is built or installed; else
// "".
std::filesystem::path here_or_beside_program(const std::string& path);

// All tasks of tasks.path, without the config's selection. `notes` gets lines on how problems in PyTorch were read, and on those
// that are left out. Errors: ConfigError.
std::vector<env::Task> load_all_tasks(const RunConfig& config, std::vector<std::string>* notes = nullptr);

// The task in tasks.language where that language takes tasks of others (env::asked_in), else as it is. Errors: ConfigError if
// it cannot be asked so.
env::Task in_language_of(const RunConfig& config, const env::Task& task);

// All tasks in tasks.language; under auto all of them, each in its own. Errors: ConfigError if there is none.
std::vector<env::Task> tasks_in_language(const RunConfig& config, std::vector<std::string>* notes = nullptr);

// The tasks that the config names. Errors: ConfigError.
std::vector<env::Task> load_tasks(const RunConfig& config, std::vector<std::string>* notes = nullptr);

// Errors: ConfigError where a step or an evaluation would have too few tasks.
void check_tasks(const RunConfig& config, const std::vector<env::Task>& tasks);

// The tasks of a split (see Split), in the order loaded.
std::vector<const env::Task*> tasks_of_split(const std::vector<env::Task>& tasks, const std::string& split);

// The tasks that reinforcement learning draws from.
std::vector<const env::Task*> tasks_to_learn(const TaskOptions& options, const std::vector<env::Task>& tasks);

}  // namespace temper::trainer
