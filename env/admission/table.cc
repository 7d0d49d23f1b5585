#include "env/admission/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "env/task/c_names.h"

namespace temper::env {
namespace {

// f32 goes without saying.
std::string type_prefix(ElementType type) {
  return type == ElementType::kF32 ? "" : fmt::format("{} ", type_name(type));
}

std::string tensors_text(const std::vector<TensorSpec>& tensors) {
  std::vector<std::string> texts;
  for (const auto& tensor : tensors)
    texts.push_back(
        fmt::format("{}{}[{}]", type_prefix(tensor.type), tensor.name, fmt::join(tensor.shape, ", ")));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string timed_text(const Task& task) {
  std::string text;
  for (size_t i = 0; i < task.timed_count(); ++i) {
    const Shape shape = task.timed(i).sizes;
    std::vector<std::string> sizes;
    for (const auto& dim : task.dims) sizes.push_back(fmt::format("{} {}", dim, shape.at(dim)));
    text += fmt::format("{}{}", i == 0 ? "" : "; ", fmt::join(sizes, ", "));
  }
  return text;
}

std::string found_cells(const Admission& row) {
  const std::string eager = row.eager_us > 0 ? fmt::format("{:.1f}", row.eager_us) : "not measured";
  const std::string allowed = row.allowed > 0 ? fmt::format("{:.0e}", row.allowed) : "exact";
  return fmt::format(" {} | {} | {} |\n", eager, allowed,
                     row.problems.empty() ? "yes" : fmt::format("{}", fmt::join(row.problems, "; ")));
}

constexpr const char* kHead =
    "\n| task | split | inputs → outputs | timed | floor, us | eager, us | may be off | admitted |\n"
    "|---|---|---|---|---|---|---|---|\n";

}  // namespace

std::string task_cells(const Task& task, double floor_us) {
  return fmt::format("| `{}` | {} | {} → {} | {} | {} |", task.name, task.split, tensors_text(task.inputs),
                     tensors_text(task.outputs), timed_text(task),
                     floor_us > 0 ? fmt::format("{:.1f}", floor_us) : "-");
}

std::string markdown_table(const std::vector<Task>& tasks, const std::vector<Admission>& rows) {
  std::vector<std::string> families;
  for (const Task& task : tasks)
    if (std::ranges::count(families, task.family) == 0) families.push_back(task.family);
  std::string text;
  for (const auto& family : families) {
    text += fmt::format("{}### {}\n{}", text.empty() ? "" : "\n", family, kHead);
    for (size_t i = 0; i < tasks.size(); ++i)
      if (tasks[i].family == family) text += task_cells(tasks[i], rows[i].floor_us) + found_cells(rows[i]);
  }
  return text;
}

}  // namespace temper::env
