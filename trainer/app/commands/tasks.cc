#include <algorithm>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "env/verdict/known_notes.h"
#include "env/verdict/problem_sizes.h"
#include "rollout/example_turns.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/commands/prompts.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {

using env::Task;

namespace {

// A part of a name, of a family or of a language, in any case; all of them have to match.
bool matches(const Task& task, const std::vector<std::string>& patterns) {
  std::string words = task.name + " " + task.family + " " + task.language + " " + task.split;
  return std::ranges::all_of(patterns, [&](std::string pattern) {
    std::ranges::transform(pattern, pattern.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return words.find(pattern) != std::string::npos;
  });
}

std::vector<Task> tasks_found(const RunConfig& config, const std::vector<std::string>& patterns) {
  std::vector<std::string> notes, names;
  std::vector<Task> tasks = tasks_in_language(config, &notes);
  for (const std::string& note : notes) say_beside(note);
  for (const Task& task : tasks) names.push_back(task.name);
  std::erase_if(tasks, [&](const Task& task) {
    const auto& wanted = config.tasks.names;
    return !matches(task, patterns) || (!wanted.empty() && std::ranges::count(wanted, task.name) == 0);
  });
  if (tasks.empty() && !patterns.empty())
    throw ConfigError("tasks: none of the {} tasks of {} matches '{}'{}", names.size(),
                      config.tasks.place().string(), printable(patterns.back()),
                      did_you_mean(patterns.back(), names));
  return tasks;
}

// What judges have found out about the problems in PyTorch among them, so far.
env::KnownNotes known_notes(const RunConfig& config, const std::vector<Task>& tasks) {
  const bool modules = std::ranges::any_of(tasks, [](const Task& task) { return task.module.has_value(); });
  return env::KnownNotes(modules ? env::problem_sizes_file(config.env.cache) : "");
}

// "  weak: none / zeros, stale", strictly and as KernelBench counts.
std::string weakness(const Task& task, const env::KnownNotes& known) {
  if (!task.module) return "";
  const env::ProblemNotes* notes = known.find(task);
  if (notes == nullptr) return "  weak: not judged yet";
  if (!notes->unusable.empty()) return "  unusable: " + notes->unusable;
  return fmt::format("  weak: {} / {}", env::weak_text(notes->weak), env::weak_text(notes->weak_comparable));
}

void print_table(const std::vector<Task>& tasks, const env::KnownNotes& known) {
  size_t name = 4, family = 6;
  for (const Task& task : tasks)
    name = std::max(name, task.name.size()), family = std::max(family, task.family.size());
  for (const Task& task : tasks)
    fmt::print("{:<{}}  {:<6}  {:<{}}  {}{}\n", task.name, name, task.language, task.family, family,
               task.held_out() ? "held out" : task.split, weakness(task, known));
}

void print_lines(const std::vector<Task>& tasks, const env::KnownNotes& known) {
  for (const Task& task : tasks) {
    nlohmann::json line = {
        {"name", task.name}, {"language", task.language}, {"family", task.family}, {"split", task.split}};
    if (const env::ProblemNotes* notes = known.find(task)) line["problem"] = *notes;
    fmt::print("{}\n", line.dump());
  }
}

// The one whose name is typed in full is meant alone.
std::vector<Task> asked(std::vector<Task> tasks, const std::vector<std::string>& patterns) {
  if (patterns.size() == 1 && std::ranges::count(tasks, patterns[0], &Task::name) == 1)
    std::erase_if(tasks, [&](const Task& task) { return task.name != patterns[0]; });
  return tasks;
}

struct TaskWords {
  ConfigWords config;
  PromptWords prompt;
  bool prints_prompts = false;
};

int run_tasks(const TaskWords& words) {
  ConfigWords options{.path = words.config.path, .overrides = {}};
  std::vector<std::string> patterns;
  for (const std::string& word : words.config.overrides)
    (word.find('=') == std::string::npos ? patterns : options.overrides).push_back(word);
  const RunConfig config = options.read();
  const std::vector<Task> tasks = tasks_found(config, patterns);
  if (words.prints_prompts || !words.prompt.verdict.empty()) {
    print_prompts(config, asked(tasks, patterns), words.prompt);
    return kExitOk;
  }
  const env::KnownNotes known = known_notes(config, tasks);
  words.prompt.json ? print_lines(tasks, known) : print_table(tasks, known);
  return kExitOk;
}

}  // namespace

void add_tasks(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("tasks", "list tasks: name, language, family, and whether it is held out");
  const auto words = std::make_shared<TaskWords>();
  declare_overrides(*command, words->config);
  command->get_option("overrides")
      ->description("options (tasks.path=DIR), and words that name, family, language or split must hold");
  command
      ->add_option("--config", words->config.path, "options of a run, as YAML; key=value words come on top")
      ->transform(path_word());
  command->add_flag("--json", words->prompt.json, "a line of JSON for each");
  command->add_flag(
      "--prompt", words->prints_prompts,
      "print the messages that a policy is asked with; with model.path also as its chat template has "
      "them, with the number of tokens");
  command
      ->add_option("--verdict", words->prompt.verdict,
                   "as --prompt, and the message after an answer with such a verdict, as an example")
      ->check(one_of(rollout::example_verdict_names()));
  command->callback([=, &exit_code] { exit_code = run_tasks(*words); });
}

}  // namespace temper::trainer
