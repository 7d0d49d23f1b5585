#include "trainer/app/commands/admit.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "env/admission/admission.h"
#include "env/admission/table.h"
#include "env/task/task_numbers.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {

using env::Admission;
using env::Task;

namespace {

constexpr int64_t kMutantDraws = 20;  // of a shape; a verdict makes about as many

bool is_option(const std::string& word) { return word.find('=') != std::string::npos; }

// Names and options in any order.
void part_words(std::vector<std::string>& names, ConfigWords& words) {
  names.insert(names.end(), words.overrides.begin(), words.overrides.end());
  std::erase(names, "");
  words.overrides.clear();
  std::ranges::copy_if(names, std::back_inserter(words.overrides), is_option);
  std::erase_if(names, is_option);
}

// What says a task's sizes and its reference as functions of tensors.
void refuse_module(const Task& task, const char* what) {
  if (task.module)
    throw ConfigError("{} not for {}, which is a problem in PyTorch; it is checked when it is first judged",
                      what, task.name);
}

// Without names those of one language are taken.
void say_other_languages(const RunConfig& config, const std::vector<Task>& taken) {
  std::map<std::string, int64_t> others;
  for (const Task& task : load_all_tasks(config))
    if (std::ranges::count(taken, task.name, &Task::name) == 0) ++others[task.language];
  for (const auto& [language, count] : others)
    say_beside(
        fmt::format("{} tasks in {} are left out; tasks.language={} takes those", count, language, language));
}

std::vector<Task> wanted_tasks(const RunConfig& config, const std::vector<std::string>& names) {
  std::vector<Task> tasks, known;
  if (names.empty()) {
    tasks = load_tasks(config);
    if (config.tasks.names.empty()) say_other_languages(config, tasks);
  }
  for (const std::string& name : names) {
    if (std::filesystem::is_regular_file(name)) {
      std::ranges::move(env::load_tasks(std::filesystem::path(name)), std::back_inserter(tasks));
      continue;
    }
    if (known.empty()) known = load_all_tasks(config);
    tasks.push_back(in_language_of(config, env::find_task(known, name)));
  }
  std::set<std::string> seen;
  for (const Task& task : tasks) {
    if (!seen.insert(task.name).second) throw ConfigError("judge: task '{}' is named twice", task.name);
    refuse_module(task, "judge: --admit and --tasks are");
  }
  return tasks;
}

void print_json(const std::vector<Admission>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Admission& row : rows)
    list.push_back({{"task", row.task},
                    {"admitted", row.problems.empty()},
                    {"eager_us", row.eager_us},
                    {"floor_us", row.floor_us},
                    {"allowed", row.allowed},
                    {"timed", row.timed},
                    {"problems", row.problems},
                    {"mutants", row.mutants}});
  fmt::print("{}\n", list.dump(2));
}

std::string microseconds(double us) { return us > 0 ? fmt::format("{:.1f}", us) : "-"; }

// GPU tasks have a floor beside eager's time, which is not known where there is no GPU.
void print_table(const std::vector<Task>& tasks, const std::vector<Admission>& rows) {
  size_t width = 4;
  for (const Task& task : tasks) width = std::max(width, task.name.size());
  const bool floors = std::ranges::any_of(rows, [](const Admission& row) { return row.floor_us > 0; });
  const auto line = [&](const std::string& task, const std::string& family, const std::string& split,
                        const std::string& floor, const std::string& eager, const char* admitted) {
    fmt::print("{:<{}}  {:<16}  {:<7}  ", task, width, family, split);
    if (floors) fmt::print("{:>9}  ", floor);
    fmt::print("{:>9}  {}\n", eager, admitted);
  };
  line("task", "family", "split", "floor us", "eager us", "admitted");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Admission& row = rows[i];
    line(row.task, tasks[i].family, tasks[i].split, microseconds(row.floor_us), microseconds(row.eager_us),
         row.problems.empty() ? "yes" : "no");
    for (const std::string& problem : row.problems) fmt::print("    {}\n", problem);
  }
}

struct Fates {
  int64_t all = 0, living = 0, at_first = 0, later = 0;
  void add(const env::MutantFate& fate) {
    const bool first = fate.check_draw == 0 && (!fate.timed_tried || fate.timed_draw == 0);
    ++all;
    ++(fate.lives() ? living : first ? at_first : later);
  }
};

void print_fates(const char* of, const std::map<std::string, Fates>& by_name) {
  fmt::print("\n{:<16}  {:>10}  {:>6}  {:>23}  {:>15}\n", of, "short-cuts", "living",
             "refused by the first draw", "by a later one");
  for (const auto& [name, fates] : by_name)
    fmt::print("{:<16}  {:>10}  {:>6}  {:>25}  {:>15}\n", name, fates.all, fates.living, fates.at_first,
               fates.later);
}

void print_mutants(const std::vector<Task>& tasks, const std::vector<Admission>& rows) {
  std::map<std::string, Fates> families, kinds;
  for (size_t i = 0; i < rows.size(); ++i)
    for (const env::MutantFate& fate : rows[i].mutants) {
      families[tasks[i].family].add(fate);
      kinds[fate.kind].add(fate);
    }
  print_fates("family", families);
  print_fates("changed", kinds);
}

}  // namespace

int run_admit(std::vector<std::string> names, ConfigWords words, AdmitFormat format, bool mutants) {
  part_words(names, words);
  const RunConfig config = words.read();
  const std::vector<Task> tasks = wanted_tasks(config, names);
  const ProgressFunction bar = progress_bar("admission");
  const env::AdmissionProgress progress = [&](int64_t done, int64_t all) {
    throw_if_interrupted();
    bar(done, all);
  };
  const auto rows = env::admit(config.env, tasks, progress, mutants ? kMutantDraws : 0);
  const auto admitted =
      std::ranges::count_if(rows, [](const Admission& row) { return row.problems.empty(); });
  if (format == AdmitFormat::kJson)
    print_json(rows);
  else if (format == AdmitFormat::kMarkdown)
    fmt::print("{}", env::markdown_table(tasks, rows));
  else
    print_table(tasks, rows);
  if (mutants && format == AdmitFormat::kText) print_mutants(tasks, rows);
  fmt::print(stderr, "{} of {} tasks admitted\n", admitted, rows.size());
  return size_t(admitted) == rows.size() ? kExitOk : kExitCandidateFailed;
}

int print_tasks(std::vector<std::string> names, ConfigWords words) {
  part_words(names, words);
  fmt::print("{}\n", env::tasks_in_numbers(wanted_tasks(words.read(), names)));
  return kExitOk;
}

}  // namespace temper::trainer
