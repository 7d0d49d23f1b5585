#include "trainer/commands/admit.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "env/admission/admission.h"
#include "trainer/console.h"
#include "trainer/interrupted.h"

namespace temper {
namespace {

bool is_option(const std::string& word) { return word.find('=') != std::string::npos; }

// Names and options in any order.
void part_words(std::vector<std::string>& names, ConfigWords& words) {
  names.insert(names.end(), words.overrides.begin(), words.overrides.end());
  std::erase(names, "");
  words.overrides.clear();
  std::ranges::copy_if(names, std::back_inserter(words.overrides), is_option);
  std::erase_if(names, is_option);
}

std::vector<Task> wanted_tasks(const RunConfig& config, const std::vector<std::string>& names) {
  if (names.empty()) return load_tasks(config);
  std::vector<Task> tasks, known;
  for (const std::string& name : names) {
    if (std::filesystem::is_regular_file(name)) {
      std::ranges::move(load_tasks(std::filesystem::path(name)), std::back_inserter(tasks));
      continue;
    }
    if (known.empty()) known = load_tasks(config);
    tasks.push_back(find_task(known, name));
  }
  std::set<std::string> seen;
  for (const Task& task : tasks)
    if (!seen.insert(task.name).second)
      throw ConfigError("judge --admit: task '{}' is named twice", task.name);
  return tasks;
}

void print_json(const std::vector<Admission>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const Admission& row : rows)
    list.push_back({{"task", row.task},
                    {"admitted", row.problems.empty()},
                    {"eager_us", row.eager_us},
                    {"problems", row.problems}});
  fmt::print("{}\n", list.dump(2));
}

void print_table(const std::vector<Task>& tasks, const std::vector<Admission>& rows) {
  size_t width = 4;
  for (const Task& task : tasks) width = std::max(width, task.name.size());
  fmt::print("{:<{}}  {:<16}  {:<7}  {:>9}  admitted\n", "task", width, "family", "split", "eager us");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Admission& row = rows[i];
    const std::string eager = row.eager_us > 0 ? fmt::format("{:.1f}", row.eager_us) : "-";
    fmt::print("{:<{}}  {:<16}  {:<7}  {:>9}  {}\n", row.task, width, tasks[i].family, tasks[i].split, eager,
               row.problems.empty() ? "yes" : "no");
    for (const std::string& problem : row.problems) fmt::print("    {}\n", problem);
  }
}

}  // namespace

int run_admit(std::vector<std::string> names, ConfigWords words, bool json) {
  part_words(names, words);
  const RunConfig config = words.read();
  const std::vector<Task> tasks = wanted_tasks(config, names);
  const ProgressFunction bar = progress_bar("admission");
  const auto rows = admit(config.env, tasks, [&](int64_t done, int64_t all) {
    throw_if_interrupted();
    bar(done, all);
  });
  const auto admitted =
      std::ranges::count_if(rows, [](const Admission& row) { return row.problems.empty(); });
  if (json)
    print_json(rows);
  else
    print_table(tasks, rows);
  fmt::print(stderr, "{} of {} tasks admitted\n", admitted, rows.size());
  return size_t(admitted) == rows.size() ? kExitOk : kExitCandidateFailed;
}

}  // namespace temper
