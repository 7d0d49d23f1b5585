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
#include "base/input/rows/rows.h"
#include "env/task/module_text.h"
#include "env/task/problems/found_problem.h"
#include "env/task/problems/module_rows.h"
#include "env/task/problems/usable.h"

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

template <class Wanted>
std::vector<fs::path> files_below(const fs::path& folder, const Wanted& wanted) {
  std::vector<fs::path> files;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, options); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (entry->is_directory() && entry->path().filename().string().starts_with('.'))
      entry.disable_recursion_pending();
    if (wanted(entry->path()) && entry->is_regular_file()) files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

bool is_python(const fs::path& file) { return file.extension() == ".py"; }
bool is_yaml(const fs::path& file) { return file.extension() == ".yaml"; }
bool holds_rows(const fs::path& file) {
  return is_row_file(file) && !file.filename().string().starts_with('.');
}

class Finder {
 public:
  explicit Finder(const ModuleOptions& options) : options_(options) {}

  void find(const fs::path& path) {
    if (!fs::is_directory(path)) {
      if (is_row_file(path)) return read_rows_of({path});
      const fs::path folder = fs::absolute(path).parent_path();
      return read_file_at(path, level_of(folder), folder);
    }
    const auto levels = level_folders(path);
    for (const auto& [level, folder] : levels)
      for (const auto& entry : fs::directory_iterator(folder))
        if (is_python(entry.path())) read_file_at(entry.path(), level, folder);
    if (!levels.empty()) return;
    for (const fs::path& file : files_below(path, is_python))
      if (is_meant(file)) read_file_at(file, level_of(file.parent_path()), file.parent_path());
    if (!found.problems.empty()) return;
    if (const auto files = files_below(path, holds_rows); !files.empty()) read_rows_of(files);
  }

  FoundProblems found;

 private:
  void read_rows_of(const std::vector<fs::path>& files) {
    read_problem_rows(files, {options_.field, options_.name_field, options_.level_field}, options_.pythons,
                      found);
    leave_out_copies(found);
  }

  // Other files of a folder that is not KernelBench's may be anything.
  bool is_meant(const fs::path& file) {
    const std::set<std::string> names = top_level_names(read_or_note(file).value_or(""));
    return names.contains("Model") || names.contains("get_inputs") || names.contains("get_init_inputs");
  }

  std::optional<std::string> read_or_note(const fs::path& file) try {
    return read_input_file(file, kMostSourceBytes);
  } catch (const ConfigError& error) {
    leave_out(printable(error.what(), kMostPathBytes));
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
      leave_out(fmt::format("{}: it is empty", problem.origin));
    } else if (const std::string lacks = module_problem_lacks(problem.source); !lacks.empty()) {
      leave_out(fmt::format("{}: {}", problem.origin, lacks));
    } else if (level.value_or(0) > 0 && !leading_number(stem)) {
      leave_out(fmt::format("{}: its name does not begin with the problem's number", problem.origin));
    } else {
      found.problems.push_back(std::move(problem));
    }
  }

  void leave_out(const std::string& what) { found.notes.push_back("left out: " + what); }

  const ModuleOptions& options_;
};

std::string name_of(const FoundProblem& problem) {
  const std::string part = task_name_part(problem.name);
  return problem.level > 0 ? fmt::format("level{}_{}", problem.level, part) : part;
}

Task task_of(const FoundProblem& problem, const ModuleOptions& options) {
  Task task;
  task.name = problem.task;
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

// In an order that does not depend on the machine. Rows of one name stay in theirs.
void sort(std::vector<FoundProblem>& problems) {
  std::ranges::stable_sort(problems, {}, [](const FoundProblem& one) {
    return std::tuple(one.level, one.id, std::string_view(one.name),
                      one.of_row ? std::string_view() : std::string_view(one.origin));
  });
}

// Gives each problem a name and a number in its level that are its own, before anything is left out that only this machine
// cannot use.
class Namer {
 public:
  void name(FoundProblems& found) {
    number_unnumbered(found.problems);
    for (const FoundProblem& problem : found.problems) {
      int64_t& last = last_[problem.level];
      last = std::max(last, problem.id);
    }
    std::erase_if(found.problems, [&](FoundProblem& problem) {
      const std::string why = problem.of_row ? name_row(problem) : name_file(problem);
      if (!why.empty()) found.notes.push_back(fmt::format("left out: {}: {}", problem.origin, why));
      return !why.empty();
    });
    if (suffixes_ > 0)
      found.notes.push_back(
          fmt::format("{} of the problems have the name of an earlier one, and a suffix (the first: {})",
                      suffixes_, first_));
  }

 private:
  std::string name_file(FoundProblem& problem) {
    problem.task = name_of(problem);
    if (problem.task.empty() || names_.contains(problem.task))
      return fmt::format("the name {} is used by another problem", printable(problem.task));
    if (!numbers_.insert({problem.level, problem.id}).second)
      return fmt::format("the number {} is used by another problem of its level", problem.id);
    names_.insert(problem.task);
    return "";
  }

  std::string name_row(FoundProblem& problem) {
    const std::string name = name_of(problem).empty() ? "problem" : name_of(problem);
    problem.task = name;
    for (int64_t& next = next_.try_emplace(name, 2).first->second; !names_.insert(problem.task).second;
         ++next)
      problem.task = fmt::format("{}_{}", name, next);
    if (problem.task != name && suffixes_++ == 0)
      first_ = fmt::format("{}, {}", problem.task, problem.origin);
    if (!numbers_.insert({problem.level, problem.id}).second)
      numbers_.insert({problem.level, problem.id = ++last_[problem.level]});
    return "";
  }

  std::set<std::string> names_;
  std::set<std::pair<int64_t, int64_t>> numbers_;
  std::map<std::string, int64_t> next_;
  std::map<int64_t, int64_t> last_;  // level → largest number
  int64_t suffixes_ = 0;
  std::string first_;
};

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
  if (!fs::is_directory(path)) return is_python(path) || is_row_file(path);
  if (!level_folders(path).empty()) return true;
  if (!files_below(path, is_yaml).empty()) return false;
  return !files_below(path, [](const fs::path& file) { return is_python(file) || holds_rows(file); }).empty();
}

ModuleTasks load_module_tasks(const fs::path& path, const ModuleOptions& options) {
  Finder finder(options);
  finder.find(path);
  FoundProblems& found = finder.found;
  sort(found.problems);
  Namer().name(found);
  if (const size_t all = found.notes.size(); all > kMostNotes) {
    found.notes.resize(kMostNotes);
    found.notes.push_back(fmt::format("left out: {} more", all - kMostNotes));
  }
  leave_out_unusable(found, options);
  if (const std::string line = found.left_out.line(found.rows); !line.empty()) found.notes.push_back(line);
  ModuleTasks read{.tasks = {}, .notes = std::move(found.notes)};
  for (const FoundProblem& problem : found.problems) read.tasks.push_back(task_of(problem, options));
  if (read.tasks.empty())
    throw ConfigError("tasks '{}': no problem with Model, get_inputs and get_init_inputs{}{}", path.string(),
                      read.notes.empty() ? "" : "\n", fmt::join(read.notes, "\n"));
  hold_out(read.tasks, options.held_out);
  return read;
}

}  // namespace temper::env
