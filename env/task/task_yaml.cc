#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/printable.h"
#include "base/input/yaml.h"
#include "env/task/module_reader.h"
#include "env/task/task.h"
#include "env/task/task_reader.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostFileBytes = 16 << 20;
constexpr size_t kMostProblems = 10;    // that are told
constexpr size_t kManyProblems = 1000;  // what follows them is not looked at

class TaskFiles {
 public:
  void read(const std::string& yaml, const std::string& origin) {
    try {
      const YAML::Node root = parse_yaml(yaml, origin);
      if (root.IsMap() && root["tasks"]) {
        read_sections(root, origin);
      } else if (root.IsSequence()) {
        read_list(root, YAML::Node(), origin);
      } else {
        add(root, YAML::Node(), origin);
      }
    } catch (const ConfigError& error) {
      problems_.emplace_back(error.what());
    } catch (const YAML::Exception& error) {
      problems_.push_back(fmt::format("{}:{}: {}", origin, error.mark.line + 1, error.msg));
    }
  }

  void problem(std::string text) { problems_.push_back(std::move(text)); }

  std::vector<Task> finish() {
    if (problems_.empty()) return std::move(tasks_);
    const size_t found = problems_.size(), left_out = found - std::min(found, kMostProblems);
    problems_.resize(problems_.size() - left_out);
    if (left_out > 0)
      problems_.push_back(
          fmt::format("and {}{} further problems", found >= kManyProblems ? "at least " : "", left_out));
    throw ConfigError("{}", fmt::join(problems_, "\n"));
  }

 private:
  void read_sections(const YAML::Node& root, const std::string& origin) {
    for (const auto& entry : root) {
      const auto key = entry.first.Scalar();
      if (key == "tasks" || key == "defaults") continue;
      problem(fmt::format("{}:{}: unknown section '{}'; allowed: defaults, tasks", origin,
                          entry.first.Mark().line + 1, printable(key)));
    }
    const YAML::Node defaults = root["defaults"] ? root["defaults"] : YAML::Node();
    if (defaults.IsMap()) TaskReader(defaults, YAML::Node(), origin, problems_).check_task_keys();
    read_list(root["tasks"], defaults, origin);
  }

  void read_list(const YAML::Node& list, const YAML::Node& defaults, const std::string& origin) {
    if (!list.IsSequence())
      problem(fmt::format("{}:{}: expected a list of tasks", origin, list.Mark().line + 1));
    for (const auto& node : list) {
      if (problems_.size() >= kManyProblems) return;
      add(node, defaults, origin);
    }
  }

  void add(const YAML::Node& node, const YAML::Node& defaults, const std::string& origin) {
    Task task = TaskReader(node, defaults, origin, problems_).read();
    if (!task.name.empty() && !names_.insert(task.name).second) {
      problem(fmt::format("{}:{}: task {}, name: used by another task", origin, node.Mark().line + 1,
                          printable(task.name)));
    }
    if (problems_.empty()) tasks_.push_back(std::move(task));
  }

  std::vector<Task> tasks_;
  std::vector<std::string> problems_;
  std::set<std::string> names_;
};

std::vector<fs::path> yaml_files(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<Task> load_tasks(const fs::path& path, const ModuleOptions& modules,
                             std::vector<std::string>* notes) {
  if (!fs::exists(path)) throw ConfigError("tasks '{}': no such file or folder", path.string());
  if (holds_modules(path)) {
    ModuleTasks read = load_module_tasks(path, modules);
    if (notes != nullptr) std::ranges::move(read.notes, std::back_inserter(*notes));
    return std::move(read.tasks);
  }
  const auto files = yaml_files(path);
  if (files.empty())
    throw ConfigError(
        "tasks '{}': no *.yaml, no *.py and no file of rows (*.jsonl, *.json, *.parquet) below it",
        path.string());
  TaskFiles tasks;
  for (const auto& file : files) tasks.read(read_input_file(file, kMostFileBytes), file.string());
  return tasks.finish();
}

std::vector<Task> load_tasks(const fs::path& path) { return load_tasks(path, {}); }

std::vector<Task> parse_tasks(const std::string& yaml, const std::string& origin) {
  TaskFiles tasks;
  tasks.read(yaml, origin);
  return tasks.finish();
}

}  // namespace temper::env
