#include "env/task/problems/module_form.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/input/json.h"
#include "base/input/rows/rows.h"
#include "env/task/module_text.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostNumber = 1'000'000'000;

const std::vector<ModuleForm>& forms() {
  static const std::vector<ModuleForm> all = {
      {"KernelBench's",
       {"code", "level", "name", "problem_id"},
       {"code"},
       {"name"},
       {"level"},
       {"problem_id"},
       {}},
      {"KernelBook's",
       {"python_code", "entry_point"},
       {"python_code"},
       {"entry_point", "module_name"},
       {},
       {"uuid"},
       {"entry_point"}},
      {"drkernel-rl-data's",
       {"reward_model.ground_truth", "extra_info.entry_point"},
       {"reward_model.ground_truth"},
       {"extra_info.name", "extra_info.entry_point"},
       {"extra_info.level"},
       {"extra_info.uuid"},
       {"extra_info.entry_point"}},
      {"cudaLLM's",
       {"reward_model.ground_truth"},
       {"reward_model.ground_truth", "prompt"},
       {"extra_info.name", "extra_info.problem_name", "extra_info.op_name", "name"},
       {"extra_info.level", "level"},
       {"extra_info.problem_id", "extra_info.uuid", "extra_info.id", "extra_info.index"},
       {"extra_info.entry_point"}},
      {"CUDA-Agent-Ops-6K's", {"code", "ops", "data_source"}, {"code"}, {"ops"}, {}, {}, {}},
      {"the AI CUDA Engineer's",
       {"PyTorch_Code_Module", "Op_Name"},
       {"PyTorch_Code_Module"},
       {"Op_Name"},
       {"Level_ID"},
       {"Task_ID"},
       {}},
      {"robust-kbench's",
       {"task_name", "pytorch_code_module"},
       {"pytorch_code_module"},
       {"task_name"},
       {"level", "level_id"},
       {"task_id"},
       {"entry_point"}},
      {"no known",
       {},
       {},
       {"name", "problem_name", "task_name", "op_name", "title", "extra_info.name", "entry_point",
        "extra_info.entry_point", "module_name"},
       {"level", "level_id", "extra_info.level"},
       {"problem_id", "id", "task_id", "uuid", "extra_info.problem_id", "extra_info.uuid"},
       {"entry_point", "extra_info.entry_point", "class_name"}}};
  return all;
}

const Json* first_of(const Json& row, const std::vector<const char*>& paths) {
  for (const char* path : paths)
    if (const Json* found = field_at(row, path); found != nullptr && !found->is_null()) return found;
  return nullptr;
}

std::string text_of(const Json* value) {
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number() || value->is_boolean()) return value->dump();
  std::string joined;  // of a list of operators
  if (value->is_array())
    for (const Json& one : *value)
      if (one.is_string()) joined += (joined.empty() ? "" : " ") + one.get<std::string>();
  return joined;
}

// A whole number, also one with which a text ends: "level_1".
std::optional<int64_t> number_of(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto number = whole_number(*value))
    return *number >= 0 && *number <= kMostNumber ? number : std::nullopt;
  if (value->is_number_float() && value->get<double>() >= 0 && value->get<double>() < double(kMostNumber))
    return int64_t(value->get<double>());  // a column of integers in which some are missing
  if (!value->is_string()) return std::nullopt;
  const std::string text = value->get<std::string>();
  const size_t digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) return std::nullopt;
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + digit, end, number);
  return read.ec == std::errc() && read.ptr == end && number <= kMostNumber ? std::optional(number)
                                                                            : std::nullopt;
}

// "torch.nn.Conv2d torch.relu", or the same as a list in Python's words → "Conv2d relu".
std::string operators_in(std::string text) {
  for (const char* prefix : {"torch.nn.functional.", "torch.nn.", "torch.", "nn.", "F."})
    for (size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at)) {
      const bool begins = at == 0 || std::string_view(" '\"[,(").find(text[at - 1]) != std::string_view::npos;
      begins ? (void)text.erase(at, std::string_view(prefix).size()) : (void)++at;
    }
  return text;
}

// What a text is, the better the later.
enum class Likeness { kNothing, kNearly, kAnswer, kProblem };

// A text with a ModelNew answers the problem that it quotes, and says so only where nothing else does. `known`: of a field whose
// name says that it holds a problem; then it is worth a message what is wrong with it.
Likeness likeness_of(const FoundSource& found, bool known) {
  if (found.text.empty()) return Likeness::kNothing;
  if (!module_problem_lacks(with_model(found.text, found.entry_point)).empty())
    return known ? Likeness::kNearly : Likeness::kNothing;
  return top_level_names(found.text).contains("ModelNew") ? Likeness::kAnswer : Likeness::kProblem;
}

// The source where no field is named: of those that are known, then of any other, the first that is most like a problem.
void find_anywhere(const Json& row, RowProblem& problem) {
  Likeness best = Likeness::kNothing;
  std::vector<std::string> names = reference_fields();
  for (const auto& [name, value] : row.items())
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  for (size_t i = 0; i < names.size() && best < Likeness::kProblem; ++i) {
    const auto value = row.find(names[i]);
    if (value == row.end() || !(value->is_string() || value->is_structured())) continue;
    FoundSource found = source_in(*value);
    const Likeness likeness = likeness_of(found, i < reference_fields().size());
    if (likeness <= best) continue;
    best = likeness;
    problem.source = std::move(found);
    problem.source_field = names[i];
  }
}

void find_source(const Json& row, const ModuleForm& form, const ModuleFields& fields, RowProblem& problem) {
  std::vector<const char*> paths = form.source;
  if (!fields.source.empty()) paths = {fields.source.c_str()};
  if (paths.empty()) return find_anywhere(row, problem);
  for (const char* path : paths) {
    const Json* value = field_at(row, path);
    if (problem.source_field.empty()) problem.source_field = path;
    if (value == nullptr) continue;
    FoundSource found = source_in(*value);
    const bool whole = module_problem_lacks(found.text).empty();
    if (!problem.source.text.empty() && !whole) continue;
    problem.source = std::move(found);
    problem.source_field = path;
    if (whole) return;
  }
}

void find_level(const Json& row, const ModuleForm& form, const ModuleFields& fields, RowProblem& problem) {
  const Json* value = fields.level.empty() ? first_of(row, form.level) : field_at(row, fields.level);
  if (const auto level = number_of(value))
    problem.level = *level;
  else
    problem.group = text_of(value);
}

}  // namespace

const ModuleForm& form_of(const Json& row) {
  for (const ModuleForm& form : forms())
    if (std::ranges::all_of(form.needed, [&](const char* path) { return field_at(row, path) != nullptr; }))
      return form;
  return forms().back();
}

RowProblem problem_in(const Json& row, const ModuleForm& form, const ModuleFields& fields) {
  RowProblem problem;
  find_source(row, form, fields, problem);
  if (const std::string entry = text_of(first_of(row, form.entry_point)); !entry.empty())
    problem.source.entry_point = entry;
  const Json* title = fields.name.empty() ? first_of(row, form.title) : field_at(row, fields.name);
  problem.title = operators_in(text_of(title));
  const Json* number = first_of(row, form.number);
  problem.number = number_of(number);
  if (!problem.number) problem.key = text_of(number);
  find_level(row, form, fields, problem);
  return problem;
}

}  // namespace temper::env
