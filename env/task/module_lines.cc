#include "env/task/module_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "env/task/module_text.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostLineBytes = 4 << 20, kMostLines = 1'000'000, kChunk = 64 << 10;
constexpr JsonLimits kLineLimits{.bytes = kMostLineBytes, .depth = 8, .values = 10'000};
// Fields of published data sets that hold the reference, in the order in which they are tried.
constexpr const char* kCodeFields[] = {"code",    "reference_code", "ref_code", "python_code", "pytorch_code",
                                       "pytorch", "reference",      "problem",  "task",        "prompt"};

// Calls `line(number, text, too_long)` for each line. Of a line that is too long, the text is its beginning.
void for_each_line(const std::filesystem::path& path,
                   const std::function<bool(size_t, const std::string&, bool)>& line) {
  const InputFile file = open_input_file(path);
  std::string text, chunk(kChunk, '\0');
  bool too_long = false;
  size_t number = 1;
  const auto end_line = [&] {
    const bool go_on = line(number++, text, too_long);
    text.clear();
    too_long = false;
    return go_on;
  };
  for (;;) {
    const ssize_t n = ::read(file.fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("read " + path.string());
    if (n == 0) break;
    std::string_view rest(chunk.data(), size_t(n));
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      too_long = too_long || text.size() + end > kMostLineBytes;
      if (!too_long) text += rest.substr(0, end);
      if (end < rest.size() && !end_line()) return;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (!text.empty() || too_long) end_line();
}

std::string text_field(const Json& record, const std::string& name) {
  const auto found = record.find(name);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

// A whole number, also where it is written as a text, like "level_1".
int64_t number_field(const Json& record, std::initializer_list<const char*> names, int64_t otherwise) {
  for (const char* name : names) {
    const auto found = record.find(name);
    if (found == record.end()) continue;
    const auto number = whole_number(*found);
    if (number && *number >= 0) return *number;
    if (!found->is_string()) continue;
    const std::string text = found->get<std::string>();
    const size_t digit = text.find_first_of("0123456789");
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    if (digit == std::string::npos) continue;
    if (const auto read = std::from_chars(text.data() + digit, end, value);
        read.ec == std::errc() && read.ptr == end)
      return value;
  }
  return otherwise;
}

// Where a record's class has another name, as in KernelBook, a Model is derived from it. Its arguments are a list and a
// dictionary there.
std::string with_model(const Json& record, const std::string& source) {
  const std::set<std::string> names = top_level_names(source);
  if (names.contains("Model")) return source;
  for (const char* field : {"entry_point", "module_name"}) {
    const std::string name = text_field(record, field);
    if (!names.contains(name)) continue;
    return fmt::format(
        "{}\n\nclass Model({}):\n    def __init__(self, positional=(), named={{}}):\n"
        "        super().__init__(*positional, **named)\n",
        source, name);
  }
  return source;
}

// The first known field with a source that is a problem. Without one, `why` says what the nearest lacks.
std::string source_of(const Json& record, const std::string& field, std::string& why) {
  why = "no field with a class Model";
  for (const char* known : kCodeFields) {
    const std::string name = field.empty() ? known : field;
    const std::string source = with_model(record, text_field(record, name));
    const std::string lacks = source.empty() ? "it is missing or no text" : module_problem_lacks(source);
    if (lacks.empty()) return source;
    if (!field.empty() || (!source.empty() && top_level_names(source).contains("Model")))
      why = fmt::format("field {}: {}", printable(name), lacks);
    if (!field.empty()) break;
  }
  return "";
}

FoundProblem problem_of(const Json& record, std::string source, size_t number, const std::string& family) {
  FoundProblem problem;
  problem.level = number_field(record, {"level"}, 0);
  problem.id = number_field(record, {"problem_id", "id"}, int64_t(number));
  for (const char* field : {"name", "problem_name", "entry_point", "module_name"})
    if (problem.name.empty()) problem.name = text_field(record, field);
  const std::string prefix = fmt::format("{}_", problem.id);
  if (!problem.name.starts_with(prefix)) problem.name = prefix + problem.name;
  problem.family = problem.level > 0 ? fmt::format("level{}", problem.level) : family;
  problem.source = std::move(source);
  return problem;
}

}  // namespace

void read_problem_lines(const std::filesystem::path& file, const std::string& field,
                        std::vector<FoundProblem>& found, std::vector<std::string>& notes) {
  const std::string family = task_name_part(file.stem().string());
  for_each_line(file, [&](size_t number, const std::string& text, bool too_long) {
    const std::string origin = fmt::format("{}:{}", file.string(), number);
    if (number > kMostLines) {
      notes.push_back(fmt::format("{}: more than {} lines; the rest is left out", file.string(), kMostLines));
      return false;
    }
    if (too_long) {
      notes.push_back(fmt::format("{}: a line of more than {} bytes", origin, kMostLineBytes));
      return true;
    }
    if (text.find_first_not_of(" \t\r") == std::string::npos) return true;
    try {
      const Json record = parse_json_object(text, origin, kLineLimits);
      std::string why, source = source_of(record, field, why);
      if (source.empty()) {
        notes.push_back(fmt::format("{}: {}", origin, why));
      } else {
        found.push_back(problem_of(record, std::move(source), number, family));
        found.back().origin = origin;
      }
    } catch (const ConfigError& error) {
      notes.emplace_back(error.what());
    }
    return true;
  });
}

}  // namespace temper::env
