#include "env/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/files.h"
#include "base/input/printable.h"
#include "base/options.h"
#include "env/task/c_names.h"
#include "env/task/size_expression.h"

namespace temper::env {

const char* c_name(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "float";
    case ElementType::kI32:
      return "int";
    case ElementType::kBF16:
      return "__nv_bfloat16";
    case ElementType::kF16:
      return "__half";
  }
  TEMPER_CHECK(false, "element type {}", int(type));
}

const char* type_name(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "f32";
    case ElementType::kI32:
      return "i32";
    case ElementType::kBF16:
      return "bf16";
    case ElementType::kF16:
      return "f16";
  }
  TEMPER_CHECK(false, "element type {}", int(type));
}

namespace {

bool is_number(const std::string& size) {
  return !size.empty() && std::isdigit(static_cast<unsigned char>(size[0]));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

size_t first_of_line(const std::string& line) { return line.find_first_not_of(" \t"); }

// The statements below `def reference(…):`, not indented; the final return assigns to the outputs.
std::string reference_body(const Task& task) {
  std::string body;
  size_t indent = std::string::npos;
  bool inside = false;
  for (const auto& line : lines_of(task.reference)) {
    if (first_of_line(line) == std::string::npos) continue;
    if (inside && indent == std::string::npos) indent = first_of_line(line);
    if (inside) body += line.substr(std::min(indent, first_of_line(line))) + "\n";
    if (line.starts_with("def reference")) inside = true;
  }
  std::vector<std::string> names;
  for (const auto& output : task.outputs) names.push_back(output.name);
  const size_t last = body.rfind("return ");
  if (last != std::string::npos && (last == 0 || body[last - 1] == '\n')) {
    body.replace(last, 7, fmt::format("{} = ", fmt::join(names, ", ")));
  }
  return body;
}

std::string shapes_line(const Task& task) {
  std::vector<std::string> parts;
  for (const auto* tensors : {&task.inputs, &task.outputs}) {
    for (const auto& tensor : *tensors) {
      parts.push_back(fmt::format("{}[{}]", tensor.name, fmt::join(tensor.shape, ", ")));
    }
  }
  return fmt::format("{}\n", fmt::join(parts, " "));
}

// Inputs are drawn in many forms (env/call/draw_family.h). Which are not is what a candidate may rely on.
std::string plain_line(const Task& task) {
  std::vector<std::string> names;
  for (const auto& input : task.inputs)
    if (input.plain) names.push_back(input.name);
  return names.empty() ? "" : fmt::format("plain: {}\n", fmt::join(names, ", "));
}

// A candidate that is timed at several shapes may choose between ways to compute by size.
std::string timed_line(const Task& task) {
  if (task.timed_count() == 1) return "";
  std::vector<std::string> shapes;
  for (const Shape& shape : timed_shapes(task)) shapes.push_back(sizes_text(shape));
  return fmt::format("timed: {}\n", fmt::join(shapes, "; "));
}

}  // namespace

size_t element_size(ElementType type) {
  return type == ElementType::kBF16 || type == ElementType::kF16 ? 2 : 4;
}

std::string Task::signature() const { return find_language(language).signature(parameters()); }

bool Task::on_gpu() const { return find_language(language).on_gpu; }

TimedShape Task::timed(size_t index) const {
  return index == 0 ? TimedShape{timed_shape, min_bytes, min_flops} : further_timed.at(index - 1);
}

std::vector<CallParameter> Task::parameters() const {
  using enum CallParameter::Role;
  std::vector<CallParameter> all;
  for (const auto& input : inputs) all.push_back({kInput, c_name(input.type), input.name});
  for (const auto& output : outputs) all.push_back({kOutput, c_name(output.type), output.name});
  for (const auto& dim : dims) all.push_back({kSize, "int", dim});
  return all;
}

std::string Task::prompt() const {
  if (module) return reference + "\n" + signature();
  return shapes_line(*this) + plain_line(*this) + timed_line(*this) + reference_body(*this) + signature();
}

std::vector<Task> tasks_in(const Language& language, const std::vector<Task>& tasks) {
  std::vector<Task> found;
  for (const Task& task : tasks)
    if (task.language == language.name || task.language == language.also_tasks_of)
      found.push_back(asked_in(language, task));
  return found;
}

Task asked_in(const Language& language, Task task) {
  if (task.language == language.name) return task;
  if (task.language != language.also_tasks_of)
    throw ConfigError(
        "task '{}' is in {} and cannot be solved in {}{}", task.name, task.language, language.name,
        language.also_tasks_of.empty() ? "" : ", only tasks in " + language.also_tasks_of + " can");
  for (const CallParameter& one : task.parameters())
    if (std::ranges::count(language.reserved_words, one.name) > 0)
      throw ConfigError("task '{}' cannot be solved in {}: '{}' is a word of that language", task.name,
                        language.name, one.name);
  task.language = language.name;
  return task;
}

const Task& find_task(const std::vector<Task>& tasks, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& task : tasks) {
    if (task.name == name) return task;
    known.push_back(task.name);
  }
  const std::string near = did_you_mean(name, known);
  throw ConfigError("task '{}' is unknown{}; {}", printable(name), near,
                    near.empty() ? fmt::format("`temper tasks` lists the {} that are known", known.size())
                                 : "`temper tasks` lists all");
}

std::vector<Shape> timed_shapes(const Task& task) {
  std::vector<Shape> shapes = {task.timed_shape};
  for (const TimedShape& further : task.further_timed) shapes.push_back(further.sizes);
  return shapes;
}

std::vector<Shape> all_shapes(const Task& task) {
  std::vector<Shape> shapes = task.check_shapes, timed = timed_shapes(task);
  shapes.insert(shapes.end(), timed.begin(), timed.end());
  return shapes;
}

size_t most_timed(const std::vector<Task>& tasks) {
  size_t most = 1;
  for (const Task& task : tasks) most = std::max(most, task.timed_count());
  return most;
}

const Shape& shape_of(const Task& task, int32_t number) {
  if (number >= 0) return task.check_shapes.at(size_t(number));
  return number == -1 ? task.timed_shape : task.further_timed.at(timed_index(number) - 1).sizes;
}

std::string sizes_text(const Shape& shape) {
  std::string text;
  for (const auto& [dim, size] : shape) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dim, size);
  return text;
}

std::string timed_words(const Task& task, size_t index) {
  const char* const words = "the timed shape";
  return task.timed_count() == 1 ? words : fmt::format("{} {}", words, sizes_text(task.timed(index).sizes));
}

std::vector<int64_t> tensor_sizes(const TensorSpec& tensor, const Shape& shape) {
  std::vector<int64_t> sizes;
  for (const auto& size : tensor.shape) {
    if (is_number(size)) {
      sizes.push_back(std::stoll(size));
      continue;
    }
    const auto it = shape.find(size);
    TEMPER_CHECK(it != shape.end(), "tensor {}, dimension {}", tensor.name, size);
    sizes.push_back(it->second);
  }
  return sizes;
}

double normal_scale(const TensorSpec& input, const Shape& shape, double magnitude) {
  const double factor = input.scale.empty() ? 1 : evaluate_size(input.scale, shape);
  return input.scaled ? factor * magnitude : factor;
}

int64_t tensor_elements(const TensorSpec& tensor, const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t size : tensor_sizes(tensor, shape)) elements *= size;
  return elements;
}

int64_t tensor_bytes(const TensorSpec& tensor, const Shape& shape) {
  return int64_t(element_size(tensor.type)) * tensor_elements(tensor, shape);
}

}  // namespace temper::env
