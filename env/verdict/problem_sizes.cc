#include "env/verdict/problem_sizes.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr uint64_t kMostBytes = 64 << 20;  // some 300,000 problems
constexpr JsonLimits kLineLimits{.bytes = 64 << 10, .depth = 4, .values = 200};

ProblemSizes::Sizes sizes_of(const Json& json) {
  if (json.at("bytes").is_null()) return std::nullopt;
  std::array<int64_t, 3> sizes{};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto bytes = whole_number(json.at("bytes").at(i));
    if (!bytes || *bytes < 0) throw ConfigError("bytes: {}", shown(json));
    sizes[i] = *bytes;
  }
  return sizes;
}

}  // namespace

void for_each_problem_line(const fs::path& path, const std::function<void(const Json&)>& use) {
  if (!fs::exists(path)) return;
  const std::string text = read_input_file(path, kMostBytes);
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    try {
      use(parse_json_object(std::string_view(text).substr(at, end - at), "a line", kLineLimits));
    } catch (const std::exception&) {  // half a line of a process that was killed, or another kind of line
    }
  }
}

ProblemSizes::ProblemSizes(fs::path path) {
  if (path.empty()) return;
  try {
    for_each_problem_line(
        path, [&](const Json& line) { known_[line.at("problem").get<std::string>()] = sizes_of(line); });
    std::error_code ignored;
    fs::create_directories(path.parent_path(), ignored);
    file_ = AppendFile(path);
  } catch (const ConfigError&) {
  } catch (const WorldError&) {
  }
}

const ProblemSizes::Sizes* ProblemSizes::find(const std::string& digest) const {
  const auto found = known_.find(digest);
  return found == known_.end() ? nullptr : &found->second;
}

void ProblemSizes::add(const std::string& digest, const Sizes& sizes) {
  known_[digest] = sizes;
  if (!file_) return;
  try {
    file_.append(Json{{"problem", digest}, {"bytes", sizes ? Json(*sizes) : Json()}}.dump() + "\n");
  } catch (const WorldError&) {  // a full disk: the next look takes as long as this one
    file_ = AppendFile();
  }
}

fs::path problem_sizes_file(const std::string& verdict_cache) {
  if (!verdict_cache.empty()) return fs::path(verdict_cache + ".problems");
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); caches != nullptr && *caches == '/')
    return fs::path(caches) / "temper" / "problems";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".cache" / "temper" / "problems" : fs::path();
}

}  // namespace temper::env
