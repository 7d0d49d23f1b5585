#include "env/task/module_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/input/file.h"
#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "env/task/module_lines.h"
#include "env/task/module_text.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostSourceBytes = 1 << 20;
constexpr size_t kMostNotes = 20, kMostPathBytes = 300;

// The number that a text begins with.
std::optional<int64_t> leading_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
}

// The level of a folder "level3".
std::optional<int64_t> level_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with("level")) return std::nullopt;
  const auto level = leading_number(name.substr(5));
  return level && name == fmt::format("level{}", *level) ? level : std::nullopt;
}

// File names of a stranger's folder.
std::string shown_path(const fs::path& path) { return printable(path.string(), kMostPathBytes); }

fs::path trimmed(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

// Folders of levels: those in a checkout, those in the path itself, or the path.
std::map<int64_t, fs::path> level_folders(const fs::path& path) {
  std::map<int64_t, fs::path> levels;
  for (const fs::path& folder : {path / "KernelBench", path}) {
    if (!levels.empty() || !fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder))
      if (const auto level = level_of(entry.path()); level && entry.is_directory())
        levels[*level] = entry.path();
  }
  if (const auto level = level_of(fs::absolute(trimmed(path)));
      levels.empty() && level && fs::is_directory(path))
    levels[*level] = path;
  return levels;
}

std::vector<fs::path> files_below(const fs::path& folder, const char* extension) {
  std::vector<fs::path> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(folder, options))
    if (entry.path().extension() == extension && entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

class Finder {
 public:
  explicit Finder(const ModuleOptions& options) : options_(options) {}

  void find(const fs::path& path) {
    if (!fs::is_directory(path)) {
      if (path.extension() == ".jsonl") return read_problem_lines(path, options_.field, found, notes);
      const fs::path folder = fs::absolute(path).parent_path();
      return read_file_at(path, level_of(folder), folder);
    }
    const auto levels = level_folders(path);
    for (const auto& [level, folder] : levels)
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".py") read_file_at(entry.path(), level, folder);
    if (!levels.empty()) return;
    for (const fs::path& file : files_below(path, ".py"))
      if (is_meant(file)) read_file_at(file, level_of(file.parent_path()), file.parent_path());
  }

  std::vector<FoundProblem> found;
  std::vector<std::string> notes;

 private:
  // Other files of a folder that is not KernelBench's may be anything.
  bool is_meant(const fs::path& file) {
    const std::set<std::string> names = top_level_names(read_or_note(file).value_or(""));
    return names.contains("Model") || names.contains("get_inputs") || names.contains("get_init_inputs");
  }

  std::optional<std::string> read_or_note(const fs::path& file) try {
    return read_input_file(file, kMostSourceBytes);
  } catch (const ConfigError& error) {
    notes.push_back(printable(error.what(), kMostPathBytes));
    return std::nullopt;
  }

  void read_file_at(const fs::path& file, std::optional<int64_t> level, const fs::path& folder) {
    const auto source = read_or_note(file);
    if (!source) return;
    const std::string stem = file.stem().string();
    FoundProblem problem{.level = level.value_or(0),
                         .id = leading_number(stem).value_or(0),
                         .name = stem,
                         .family = task_name_part(trimmed(folder).filename().string()),
                         .source = *source,
                         .origin = shown_path(file)};
    if (problem.source.empty()) {
      notes.push_back(fmt::format("{}: it is empty", problem.origin));
    } else if (const std::string lacks = module_problem_lacks(problem.source); !lacks.empty()) {
      notes.push_back(fmt::format("{}: {}", problem.origin, lacks));
    } else if (level.value_or(0) > 0 && !leading_number(stem)) {
      notes.push_back(fmt::format("{}: its name does not begin with the problem's number", problem.origin));
    } else {
      found.push_back(std::move(problem));
    }
  }

  const ModuleOptions& options_;
};

std::string name_of(const FoundProblem& problem) {
  const std::string part = task_name_part(problem.name);
  return problem.level > 0 ? fmt::format("level{}_{}", problem.level, part) : part;
}

Task task_of(const FoundProblem& problem, const ModuleOptions& options) {
  Task task;
  task.name = name_of(problem);
  task.language = kKernelBench.name;
  task.family = problem.family.empty() ? "other" : problem.family;
  task.split = Split::kHeldOut;
  task.reference = problem.source;
  task.max_speedup = 50;
  task.module = ModuleProblem{.level = problem.level,
                              .id = problem.id,
                              .file = printable(problem.name, kMostPathBytes) + ".py",
                              .precision = options.precision,
                              .tolerance = module_tolerance(options.precision)};
  return task;
}

// Problems without a level are numbered in order where their own numbers do not tell them apart.
void number_unnumbered(std::vector<FoundProblem>& sorted) {
  std::set<int64_t> numbers;
  int64_t count = 0;
  for (const FoundProblem& problem : sorted)
    if (problem.level == 0) numbers.insert(problem.id), ++count;
  if (std::ssize(numbers) == count) return;
  int64_t next = 1;
  for (FoundProblem& problem : sorted)
    if (problem.level == 0) problem.id = next++;
}

bool in_share(const Task& task, int64_t percent) {
  return std::stoll(sha256(task.name).substr(0, 8), nullptr, 16) % 100 < percent;
}

// Which tasks a word of held_out means. Errors: ConfigError if it can mean none.
bool means(const std::string& word, const Task& task) {
  if (const auto percent = leading_number(word); percent && word == fmt::format("{}%", *percent))
    return in_share(task, *percent);
  return word == task.name || word == task.family;
}

void hold_out(std::vector<Task>& tasks, const std::vector<std::string>& words) {
  if (words.empty()) return;
  for (Task& task : tasks) task.split = Split::kTrain;
  std::set<std::string> known{"none"};
  for (const Task& task : tasks) known.insert({task.name, task.family});
  for (const std::string& word : words) {
    if (!known.contains(word) && !word.ends_with('%'))
      throw ConfigError("tasks.heldout: '{}' is neither a problem nor a family nor a share like 20%{}",
                        printable(word), did_you_mean(word, {known.begin(), known.end()}));
    for (Task& task : tasks)
      if (means(word, task)) task.split = Split::kHeldOut;
  }
}

}  // namespace

bool holds_modules(const fs::path& path) {
  if (!fs::is_directory(path)) return path.extension() == ".py" || path.extension() == ".jsonl";
  if (!level_folders(path).empty()) return true;
  return files_below(path, ".yaml").empty() && !files_below(path, ".py").empty();
}

ModuleTasks load_module_tasks(const fs::path& path, const ModuleOptions& options) {
  Finder finder(options);
  finder.find(path);
  std::ranges::sort(finder.found, {}, [](const FoundProblem& one) {
    return std::tuple(one.level, one.id, std::string_view(one.name), std::string_view(one.origin));
  });
  ModuleTasks read{.tasks = {}, .notes = std::move(finder.notes)};
  number_unnumbered(finder.found);
  std::set<std::string> names;
  std::set<std::pair<int64_t, int64_t>> numbers;
  for (const FoundProblem& problem : finder.found) {
    Task task = task_of(problem, options);
    if (task.name.empty() || !names.insert(task.name).second)
      read.notes.push_back(
          fmt::format("{}: the name {} is used by another problem", problem.origin, printable(task.name)));
    else if (!numbers.insert({problem.level, problem.id}).second)
      read.notes.push_back(fmt::format("{}: the number {} is used by another problem of its level",
                                       problem.origin, problem.id));
    else
      read.tasks.push_back(std::move(task));
  }
  if (const size_t all = read.notes.size(); all > kMostNotes) {
    read.notes.resize(kMostNotes);
    read.notes.push_back(fmt::format("and {} more that are left out", all - kMostNotes));
  }
  if (read.tasks.empty())
    throw ConfigError("tasks '{}': no problem with Model, get_inputs and get_init_inputs{}{}", path.string(),
                      read.notes.empty() ? "" : "\n", fmt::join(read.notes, "\n"));
  hold_out(read.tasks, options.held_out);
  return read;
}

}  // namespace temper::env
