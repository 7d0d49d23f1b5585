#include "env/task/problems/module_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/input/printable.h"
#include "base/input/rows/rows.h"
#include "env/task/module_text.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostRows = 1'000'000;
constexpr JsonLimits kRowLimits{.bytes = 4 << 20, .depth = 16, .values = 100'000};
constexpr size_t kMostDetail = 200, kMostKeyBytes = 12;

class RowProblems {
 public:
  RowProblems(const ModuleFields& fields, FoundProblems& found) : fields_(fields), found_(found) {}

  // Whether more rows are wanted.
  bool take(const InputRow& row, const std::string& family, int64_t number) {
    if (++found_.rows > kMostRows) {
      --found_.rows;
      found_.notes.push_back(fmt::format("left out: what follows row {} ({})", kMostRows, row.place));
      return false;
    }
    const ModuleForm& form = form_of(row.json);
    note_fields(row);
    RowProblem problem = problem_in(row.json, form, fields_);
    if (!refuses(problem, row.place)) {
      ++count_of(form.name);
      add(std::move(problem), row.place, family, number);
    }
    return true;
  }

  // "problems.parquet: 998 problems in rows of KernelBook's form"
  void say(const std::string& place) const {
    std::vector<std::string> parts;
    for (const auto& [name, count] : forms_)
      parts.push_back(fmt::format("{} in rows of {} form", count, name));
    if (!parts.empty())
      found_.notes.push_back(fmt::format("{}: problems: {}", place, fmt::join(parts, ", ")));
  }

  // Errors: ConfigError for a field that the user names and no row has.
  void check_fields() const {
    const std::pair<const char*, const std::string*> named[] = {{"tasks.field", &fields_.source},
                                                                {"tasks.name_field", &fields_.name},
                                                                {"tasks.level_field", &fields_.level}};
    for (const auto& [option, path] : named)
      if (!path->empty() && found_.rows > 0 && !seen_.contains(*path))
        throw ConfigError("{}: no row has the field '{}'; the first has {}", option, printable(*path),
                          first_fields_);
  }

 private:
  int64_t& count_of(const std::string& form) {
    for (auto& [name, count] : forms_)
      if (name == form) return count;
    return forms_.emplace_back(form, 0).second;
  }

  void note_fields(const InputRow& row) {
    if (first_fields_.empty()) first_fields_ = fields_of(row.json);
    for (const std::string* path : {&fields_.source, &fields_.name, &fields_.level})
      if (!path->empty() && field_at(row.json, *path) != nullptr) seen_.insert(*path);
  }

  bool refuses(RowProblem& problem, const std::string& place) {
    const std::string field =
        problem.source_field.empty() ? "" : fmt::format(", field {}", printable(problem.source_field));
    const auto refuse = [&](const std::string& reason, const std::string& detail) {
      found_.left_out.add(reason, fmt::format("{}{}{}", place, field, detail.empty() ? "" : ": " + detail));
      return true;
    };
    std::string& text = problem.source.text;
    const std::string& entry = problem.source.entry_point;
    if (text.empty())
      return refuse("without a source",
                    problem.source_field.empty() ? "" : "it is missing, empty or no text");
    const auto names = top_level_names(text);
    if (!entry.empty() && !names.contains(entry))
      return refuse("whose class is not in their source", fmt::format("no class {}", printable(entry)));
    text = with_model(text, entry);
    const std::string lacks = module_problem_lacks(text);
    if (lacks.empty()) return false;
    if (lacks == "no class Model") return refuse("without a class Model", "");
    return refuse(lacks.starts_with("no get_") ? "without get_inputs or get_init_inputs"
                                               : "with a source that is no text",
                  lacks);
  }

  void add(RowProblem&& row, const std::string& place, const std::string& family, int64_t number) {
    FoundProblem problem;
    problem.level = row.level;
    problem.id = row.number.value_or(number);
    problem.name = std::move(row.title);
    const std::string key = task_name_part(row.key).substr(0, kMostKeyBytes);
    const std::string prefix = key.empty() ? fmt::format("{}_", problem.id) : key + "_";
    const bool told = !fields_.name.empty() && !problem.name.empty();
    if (!told && !problem.name.starts_with(prefix)) problem.name = prefix + problem.name;
    problem.family = row.level > 0 ? fmt::format("level{}", row.level) : task_name_part(row.group);
    if (problem.family.empty()) problem.family = family;
    problem.source = std::move(row.source.text);
    problem.origin = place;
    problem.of_row = true;
    problem.row = found_.rows;
    found_.problems.push_back(std::move(problem));
  }

  const ModuleFields& fields_;
  FoundProblems& found_;
  std::vector<std::pair<std::string, int64_t>> forms_;
  std::set<std::string> seen_;
  std::string first_fields_;
};

std::string family_of(const fs::path& file) {
  const fs::path name = file.extension() == ".gz" ? file.stem() : file.filename();
  return task_name_part(name.stem().string());
}

}  // namespace

void read_problem_rows(const std::vector<fs::path>& files, const ModuleFields& fields,
                       const std::vector<std::string>& pythons, FoundProblems& found) {
  RowProblems problems(fields, found);
  RowOptions options{.pythons = pythons, .limits = kRowLimits};
  for (const std::string* path : {&fields.source, &fields.name, &fields.level})
    if (!path->empty()) options.whole.push_back(path->substr(0, path->find('.')));
  options.left_out = [&](const std::string& why) {
    ++found.rows;
    found.left_out.add("that cannot be read", printable(why, kMostDetail));
  };
  for (const fs::path& file : files) {
    int64_t number = 0;
    read_rows(file, options, [&](InputRow&& row) { return problems.take(row, family_of(file), ++number); });
  }
  problems.check_fields();
  problems.say(files.size() == 1
                   ? files.front().string()
                   : fmt::format("{} files of {}", files.size(), files.front().parent_path().string()));
}

}  // namespace temper::env
