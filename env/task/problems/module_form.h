#pragma once
// In which fields a row of a published data set keeps a problem in PyTorch.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "env/task/problems/module_source.h"

namespace temper::env {

// Dotted paths (base/input/rows/rows.h) that the user names. Empty: the form's.
struct ModuleFields {
  std::string source = "", name = "", level = "";
  bool operator==(const ModuleFields&) const = default;
};

// Lists of dotted paths: the first that the row has counts.
struct ModuleForm {
  const char* name;                 // "KernelBook"
  std::vector<const char*> needed;  // a row that has all of them is of this form
  std::vector<const char*> source, title, level, number, entry_point;
};

// The first form whose fields the row has; the last form needs none.
const ModuleForm& form_of(const nlohmann::json& row);

// A problem as a row tells of it.
struct RowProblem {
  FoundSource source;
  std::string source_field;       // where it was found, or was looked for
  std::string title;              // "19_ReLU", "Conv2d ReLU"; may be empty
  std::optional<int64_t> number;  // its own
  std::string key;                // of a row whose number is none: "a1f3…"
  int64_t level = 0;              // 0: none
  std::string group;              // a level that is no number: "easy"
};

RowProblem problem_in(const nlohmann::json& row, const ModuleForm& form, const ModuleFields& fields);

}  // namespace temper::env
