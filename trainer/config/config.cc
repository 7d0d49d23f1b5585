#include "trainer/config/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/input/printable.h"
#include "env/languages/language.h"
#include "policy/chat/chat_format.h"
#include "trainer/config/other_names.h"

namespace temper::trainer {

using env::Task;

namespace {

constexpr size_t kMostNameBytes = 200;
constexpr const char* kPrompt = "rollout.prompt";
constexpr const char* kModuleLanguage =
    "; problems in PyTorch take tasks.language=kernelbench, cuda or triton, of which the latter say what "
    "their "
    "kernels are to be in";

VisitOptions visitor_of(RunConfig& config) {
  return [&config](OptionVisitor& v) { config.visit(v); };
}

std::vector<std::string> language_choices() {
  std::vector<std::string> choices = env::language_names();
  choices.insert(choices.begin(), "auto");
  return choices;
}

void check_lengths(const RunConfig& c, Problems& problems) {
  const rollout::RolloutOptions& r = c.rollout;
  if (r.max_response_tokens >= r.max_context_tokens)
    problems.add("rollout.max_context_tokens",
                 fmt::format("{} leaves no room for a prompt: must be above rollout.max_response_tokens, {}",
                             r.max_context_tokens, r.max_response_tokens));
  if (c.model.path.empty() && r.max_context_tokens > c.model.shape.max_position_embeddings)
    problems.add("rollout.max_context_tokens",
                 fmt::format("{} is more than the model's model.max_position_embeddings, {}",
                             r.max_context_tokens, c.model.shape.max_position_embeddings));
}

void check_learning(const RunConfig& c, Problems& problems) {
  const rollout::RolloutOptions& r = c.rollout;
  const int64_t rows = r.tasks_per_step * r.samples_per_task;
  if (c.learner.updates_per_batch > rows)
    problems.add("learner.updates_per_batch",
                 fmt::format("{} is more than the {} trajectories of a step (rollout.tasks_per_step × "
                             "rollout.samples_per_task)",
                             c.learner.updates_per_batch, rows));
  if (c.run.steps > 0 && r.temperature == 0)
    problems.add("rollout.temperature", "0 samples nothing to learn from; set it above 0, or run.steps to 0");
  const int64_t compared = r.samples_per_task * (c.advantage.pool == "task" ? r.turns : 1);
  if (compared < least_samples(c.advantage))
    problems.add("rollout.samples_per_task",
                 fmt::format("{} leaves advantage.name {} nothing to compare with: must be at least {}",
                             r.samples_per_task, c.advantage.name, least_samples(c.advantage)));
  if (imitates(c.advantage) && c.loss.objective == "cispo")
    problems.add("loss.objective", "cispo weighs by the ratio; advantage.name rft takes likelihood");
  if ((imitates(c.advantage) || c.loss.objective == "likelihood") &&
      (c.loss.ratio == "sequence" || c.loss.importance_cap > 0))
    problems.add(
        c.loss.ratio == "sequence" ? "loss.ratio" : "loss.importance_cap",
        fmt::format("{} means nothing to loss.objective likelihood, which {} and weighs no answer by a ratio",
                    c.loss.ratio == "sequence" ? "sequence" : fmt::format("{}", c.loss.importance_cap),
                    imitates(c.advantage) ? "advantage.name rft takes" : "is set"));
  if (c.loss.dual_clip > 0 && c.loss.dual_clip <= 1 + c.loss.clip_high)
    problems.add("loss.dual_clip", fmt::format("{} must be 0 or above 1 + loss.clip_high, {}",
                                               c.loss.dual_clip, 1 + c.loss.clip_high));
}

// It is a folder's name in more places than runs/.
void check_name(const RunConfig& c, Problems& problems) {
  const std::string& name = c.run.name;
  if (name.find('/') != std::string::npos || name == "." || name == ".." || name.size() > kMostNameBytes)
    problems.add(
        "run.name",
        fmt::format("'{}' is not allowed: must be one part of a path, without '/', of at most {} bytes; "
                    "run.dir takes a whole path",
                    printable(name), kMostNameBytes));
}

// The names of the options in the section rollout.prompt that the command line sets.
std::vector<std::string> said_of_prompt(const std::vector<std::string>& overrides) {
  const std::string prefix = fmt::format("{}.", kPrompt);
  std::vector<std::string> names;
  for (const std::string& word : overrides)
    if (word.starts_with(prefix)) names.push_back(word.substr(prefix.size(), word.find('=') - prefix.size()));
  return names;
}

// The languages in which problems in PyTorch ask for kernels. Elsewhere they are languages of tasks.
bool is_of_kernels(const std::string& language) { return language == "cuda" || language == "triton"; }

std::vector<Task> tasks_taken(const std::string& language, const std::vector<Task>& tasks) {
  std::vector<Task> found = env::tasks_in(env::find_language(language), tasks);
  return found.empty() && is_of_kernels(language) ? env::tasks_in(env::kKernelBench, tasks) : found;
}

// What to say where no task is in tasks.language.
[[noreturn]] void refuse_language(const RunConfig& config, const std::vector<Task>& tasks) {
  std::set<std::string> languages;
  bool modules = false;
  for (const Task& task : tasks) {
    languages.insert(task.language);
    modules |= task.module.has_value();
  }
  throw ConfigError("tasks.language: no task of tasks.path {} is {}; there are tasks in: {}{}",
                    config.tasks.path, config.tasks.language, fmt::join(languages, ", "),
                    modules ? kModuleLanguage : "");
}

void check_judge(const RunConfig& c, Problems& problems) {
  if (c.env.min_pairs > c.env.max_pairs)
    problems.add("env.min_pairs",
                 fmt::format("{} is more than env.max_pairs, {}", c.env.min_pairs, c.env.max_pairs));
}

void check_data_fields(const RunConfig& c, Problems& problems) {
  const DataFields& fields = c.cold_start.fields;
  if (c.cold_start.data.empty() && fields != DataFields{})
    problems.add("cold_start.fields", "names fields of data that are not given: set cold_start.data");
  if (!fields.messages.empty() && !(fields.prompt.empty() && fields.completion.empty()))
    problems.add(
        "cold_start.fields.messages",
        "is a row's whole conversation: must not be given beside cold_start.fields.prompt or .completion");
}

}  // namespace

void RunOptions::visit(OptionVisitor& v) {
  v.option("name", name,
           {.help = "name of the run; if empty, the config file's name without .yaml",
            .text = TextKind::kName,
            .may_change = true});
  v.option("dir", dir,
           {.help = "run directory; if empty, runs/NAME", .text = TextKind::kPath, .may_change = true});
  v.option("overwrite", overwrite,
           {.help = "delete a run that already exists in the run directory", .may_change = true});
  v.option("seed", seed, {.help = "seed of initialisation, traces, task order and sampling", .min = 0});
  v.option(
      "steps", steps,
      {.help = "steps of reinforcement learning; 0 runs the cold start only", .min = 0, .may_change = true});
  v.option("max_seconds", max_seconds,
           {.help = "time limit after which reinforcement learning ends early; 0 for no limit",
            .unit = "s",
            .min = 0,
            .may_change = true});
  v.option("threads", threads,
           {.help = "CPU threads of a rank's policy; 0 shares the machine's cores equally among its "
                    "ranks",
            .min = 0,
            .max = 1024,
            .may_change = true});
  v.option("trajectories", trajectories,
           {.help = "format of the columns of recorded trajectories: raw can be mapped into memory; "
                    "zstd takes less disk and more time",
            .choices = {"raw", "zstd"},
            .may_change = true});
}

std::filesystem::path RunOptions::path() const {
  return dir.empty() ? std::filesystem::path("runs") / name : std::filesystem::path(dir);
}

void ModelOptions::visit(OptionVisitor& v) {
  v.option("path", path,
           {.help = "Hugging Face directory to start from; if empty, a new policy of the shape "
                    "below is made and its tokenizer is trained on the traces",
            .text = TextKind::kPath});
  v.option("chat_format", chat_format,
           {.help = "chat format in which conversations are written; auto reads it off the chat template "
                    "in the model's folder",
            .choices = policy::ChatFormat::names()});
  v.option("chat_arguments", chat_arguments,
           {.help = "further names for the chat template, such as {enable_thinking: false}"});
  v.option(
      "chat_date", chat_date,
      {.help = "date that the chat template sees, as YYYY-MM-DD; if empty, the day on which the run began",
       .text = TextKind::kName});
  shape.visit(v);
  v.option("device", device,
           {.help = "cpu, cuda or cuda:N; auto chooses a GPU if there is one that supports the "
                    "model's shape",
            .text = TextKind::kName,
            .may_change = true});
  memory.visit(v);
  v.option("allow_not_finite", allow_not_finite,
           {.help = "accept starting weights that contain infinities or NaNs, which are refused "
                    "otherwise",
            .may_change = true});
}

policy::ChatSource ModelOptions::chat() const {
  return {.format = chat_format,
          .arguments = json_object(chat_arguments),
          .date = chat_date,
          .renderer = renderer};
}

policy::PolicyOptions ModelOptions::policy() const {
  policy::PolicyOptions options{.device = device == "auto" ? "cpu" : device, .memory = memory};
  if (options.on_gpu()) options.dtype = policy::DType::kBF16;
  return options;
}

void TaskOptions::visit(OptionVisitor& v) {
  v.option(
      "path", path,
      {.help =
           "task file, or folder of task files; or problems in PyTorch: a checkout of KernelBench, a folder "
           "of Python files, a file of rows (JSON lines, a JSON array, .gz, parquet) or a folder of such",
       .text = TextKind::kPath});
  v.option(
      "language", language,
      {.help = "language of the tasks taken from path; auto chooses cpp if there are tasks in "
               "it, triton takes those in cuda. Tasks given by `names` may have any "
               "language; with triton, they are asked in it. Where there are problems in PyTorch alone, cuda "
               "and triton say what their kernels are to be in",
       .choices = language_choices()});
  v.option("names", names, {.help = "use only these tasks; if empty, use all", .text = TextKind::kName});
  v.option("learn", learn,
           {.help = "splits that reinforcement learning draws tasks from; traces are the generated "
                    "tasks",
            .choices = {env::Split::kTrain, env::Split::kGenerated}});
  v.option("order", order,
           {.help = "order in which tasks are drawn. dealt: all tasks in turn; difficulty: prefers "
                    "tasks that answers sometimes pass",
            .choices = {"dealt", "difficulty"}});
  v.option("least_weight", least_weight,
           {.help = "order difficulty: smallest sampling weight, for tasks that answers always or "
                    "never pass (a task passed by half of them weighs 1)",
            .min = 1e-3,
            .max = 1});
  v.option("weak", weak,
           {.help = "problems in PyTorch that answers without any work pass, too. leave_out: from the first "
                    "verdict that says so on they earn nothing, and no step asks for them; keep: they are "
                    "paid as others are",
            .choices = {"leave_out", "keep"}});
  v.option(
      "heldout", problems.held_out,
      {.help = "problems in PyTorch that are held out: names, families such as level1, a share such as 20%, "
               "or none; if empty, all",
       .text = TextKind::kName});
  v.option(
      "precision", problems.precision,
      {.help = "type of all tensors of problems in PyTorch; KernelBench's tolerance is 1e-4 in fp32, 1e-2 in "
               "the others",
       .choices = {"fp32", "fp16", "bf16"}});
  v.option("field", problems.field,
           {.help = "field of rows that holds a problem's source, as a dotted path such as "
                    "reward_model.ground_truth; if empty, as known sets have it, or the first that does",
            .text = TextKind::kName});
  v.option("name_field", problems.name_field,
           {.help = "field of rows that names a problem, as a dotted path; if empty, as known sets have it",
            .text = TextKind::kName});
  v.option(
      "level_field", problems.level_field,
      {.help = "field of rows that holds a problem's level or family, as a dotted path; if empty, as known "
               "sets have it",
       .text = TextKind::kName});
}

void RunConfig::visit(OptionVisitor& v) {
  v.section("run", run, "the run as a whole");
  v.section("model", model, "the policy");
  v.section("tasks", tasks, "what is asked");
  v.section("env", env, "the judge");
  v.section("traces", traces, "generated conversations for the cold start");
  v.section("cold_start", cold_start, "supervised fine-tuning on the traces or on data");
  v.section("rollout", rollout, "how trajectories are made");
  v.section("reward", reward, "what an answer earns");
  v.section("returns", returns, "rewards → returns over turns");
  v.section("advantage", advantage, "returns → advantages over samples");
  v.section("loss", loss, "the policy-gradient loss");
  v.section("rejection", rejection, "what is left out of learning");
  v.section("learner", learner, "a batch → updates");
  v.section("optimizer", optimizer, "AdamW of reinforcement learning");
  v.section("eval", eval, "evaluation before and after");
  v.section("checkpoint", checkpoint, "from which checkpoint a stopped run resumes");
  v.section("ranks", ranks, "several processes, one job");
}

void RunConfig::check(Problems& problems) const {
  if (model.path.empty()) model.shape.validate("model", problems);
  check_lengths(*this, problems);
  check_learning(*this, problems);
  check_judge(*this, problems);
  check_name(*this, problems);
  check_data_fields(*this, problems);
  reward.check(problems);
  eval.scaling.check(problems);
}

RunConfig read_config(const std::string& path, const std::vector<std::string>& overrides) {
  RunConfig config;
  Problems problems;
  read_options(visitor_of(config), path, overrides, problems, other_names());
  if (!config.model.path.empty()) {
    config = {};
    config.cold_start.optimizer.lr = kFineTuningRate;
    Problems same;
    read_options(visitor_of(config), path, overrides, same, other_names());
  }
  config.rollout.context.prompt.read_texts(path, said_of_prompt(overrides), kPrompt, problems);
  if (config.run.name.empty())
    config.run.name = path.empty() ? "run" : std::filesystem::path(path).stem().string();
  if (is_of_kernels(config.tasks.language)) config.rollout.context.prompt.asked_in = config.tasks.language;
  config.check(problems);
  problems.throw_if_any();
  return config;
}

std::string to_yaml(const RunConfig& config) {
  RunConfig copy = config;
  return options_to_yaml(visitor_of(copy));
}

std::set<std::string> keys_that_may_change() {
  RunConfig defaults;
  return options_that_may_change(visitor_of(defaults));
}

std::map<std::string, std::string> to_map(const RunConfig& config) {
  RunConfig copy = config;
  return options_to_map(visitor_of(copy));
}

std::vector<const Task*> tasks_of_split(const std::vector<Task>& tasks, const std::string& split) {
  std::vector<const Task*> chosen;
  for (const Task& task : tasks)
    if (task.split == split) chosen.push_back(&task);
  return chosen;
}

std::vector<const Task*> tasks_to_learn(const TaskOptions& options, const std::vector<Task>& tasks) {
  std::vector<const Task*> chosen;
  for (const Task& task : tasks)
    if (std::ranges::count(options.learn, task.split) > 0) chosen.push_back(&task);
  return chosen;
}

std::filesystem::path here_or_beside_program(const std::string& path) {
  if (std::filesystem::exists(path)) return path;
  for (const char* beside : {"", "..", "../share/temper", "../../share/temper"})
    if (const auto place = executable_dir() / beside / path; std::filesystem::exists(place))
      return place.lexically_normal();
  return "";
}

std::filesystem::path TaskOptions::place() const {
  if (path != TaskOptions().path) return path;
  const std::filesystem::path found = here_or_beside_program(path);
  if (!found.empty()) return found;
  throw ConfigError(
      "tasks.path: the default, {}, is neither here nor beside the program, {}; pass tasks.path=DIR", path,
      executable_dir().string());
}

std::vector<Task> load_all_tasks(const RunConfig& config, std::vector<std::string>* notes) {
  return env::load_tasks(config.tasks.place(), config.tasks.problems, notes);
}

Task in_language_of(const RunConfig& config, const Task& task) {
  if (config.tasks.language == "auto") return task;
  if (task.module && is_of_kernels(config.tasks.language)) return task;
  if (task.module && config.tasks.language != task.language)
    throw ConfigError("tasks.language: task {} is a problem in PyTorch, and its answers are in {}, not {}{}",
                      task.name, task.language, config.tasks.language, kModuleLanguage);
  const env::Language& language = env::find_language(config.tasks.language);
  return language.also_tasks_of.empty() ? task : env::asked_in(language, task);
}

std::vector<Task> load_tasks(const RunConfig& config, std::vector<std::string>* notes) {
  std::vector<Task> tasks = load_all_tasks(config, notes);
  if (!config.tasks.names.empty()) {
    std::vector<Task> chosen;
    for (const std::string& name : config.tasks.names)
      chosen.push_back(in_language_of(config, env::find_task(tasks, name)));
    return chosen;
  }
  for (const std::string& language : env::language_names()) {
    if (config.tasks.language != "auto" && config.tasks.language != language) continue;
    std::vector<Task> found = tasks_taken(language, tasks);
    if (!found.empty()) return found;
  }
  refuse_language(config, tasks);
}

std::vector<Task> tasks_in_language(const RunConfig& config, std::vector<std::string>* notes) {
  std::vector<Task> tasks = load_all_tasks(config, notes);
  if (config.tasks.language == "auto") return tasks;
  std::vector<Task> found = tasks_taken(config.tasks.language, tasks);
  if (found.empty()) refuse_language(config, tasks);
  return found;
}

void check_tasks(const RunConfig& config, const std::vector<Task>& tasks) {
  Problems problems;
  const bool modules = std::ranges::any_of(tasks, [](const Task& task) { return task.module.has_value(); });
  auto learned = int64_t(tasks_to_learn(config.tasks, tasks).size());
  if (std::ranges::count(config.tasks.learn, env::Split::kGenerated) > 0) learned += config.traces.generated;
  if (config.rollout.tasks_per_step > learned)
    problems.add("rollout.tasks_per_step",
                 fmt::format("{} is more than the {} tasks to learn from, tasks.path {}{}",
                             config.rollout.tasks_per_step, learned, config.tasks.path,
                             modules ? "; tasks.heldout says which of its problems are held out" : ""));
  if (tasks_of_split(tasks, config.eval.split).empty())
    problems.add("eval.split",
                 fmt::format("no task of tasks.path {} is {}{}", config.tasks.path, config.eval.split,
                             modules ? "; tasks.heldout says which of its problems are held out" : ""));
  problems.throw_if_any();
}

}  // namespace temper::trainer
