#pragma once
// One task out of its YAML node; for task_yaml.cc only, as it brings yaml-cpp along.

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "base/input/yaml_binder.h"
#include "env/task/task.h"

namespace temper::env {

class TaskReader {
 public:
  // Keys that `task` lacks are taken from `defaults`. Problems are appended, each with file, line, task and
  // field.
  TaskReader(YAML::Node task, YAML::Node defaults, std::string origin, std::vector<std::string>& problems);
  Task read();
  void check_task_keys();  // that the node has no unknown key; part of read

 private:
  void read_scalars();
  void read_tensors();
  void read_reference();
  void read_dims();
  void read_sizes();
  void read_timed();
  void read_minimums();
  void check_keys(const YAML::Node& node, const std::vector<std::string>& known, const std::string& field);
  void check_names();
  void check_limits();

  TensorSpec read_tensor(const std::string& name, const YAML::Node& node, bool input);
  void read_tensor_options(TensorSpec& tensor, const YAML::Node& node, const std::string& field, bool input);
  void read_distribution(TensorSpec& tensor, const YAML::Node& node, const std::string& field);
  void read_range(TensorSpec& tensor, const YAML::Node& node, const std::string& field,
                  Distribution distribution);
  void check_tensor(const TensorSpec& tensor, const Shape& shape);
  Shape read_shape(const YAML::Node& node, const std::string& field);
  double read_minimum(const char* key, size_t timed, double fallback);
  std::vector<std::string> used_dims() const;

  // The value of `node` as T, or `fallback` and a problem that says what is allowed.
  template <class T>
  T value(const YAML::Node& node, const std::string& field, T fallback, const char* allowed);
  std::string one_of(const char* key, const std::vector<std::string>& allowed, const char* expected);
  YAML::Node find(const char* key) const;
  YamlProblem to_problems();
  void problem(const YAML::Node& node, const std::string& field, const std::string& text);

  YAML::Node node_, defaults_;
  std::string origin_;
  std::vector<std::string>& problems_;
  Task task_;
};

}  // namespace temper::env
