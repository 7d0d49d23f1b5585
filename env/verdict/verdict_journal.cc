#include "env/verdict/verdict_journal.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"

namespace temper::env {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

// Of a line in which all of its verdict is as long as it may be.
constexpr JsonLimits kLineLimits{.bytes = 2 << 20, .depth = 8};

// What is told of the lines of a journal.
struct Reader {
  std::function<void(const std::string& digest, const Verdict&)> verdict;
  std::function<void(const std::string& digest, bool answered)> asked;
};

void read_line(const Json& json, const Reader& reader) {
  if (json.contains("verdict")) reader.verdict(json.at("digest"), json.at("verdict").get<Verdict>());
  if (json.contains("asked")) reader.asked(json["asked"], json.contains("verdict"));
  if (!json.contains("verdict") && !json.contains("asked"))
    throw ConfigError("it has neither verdict nor asked");
}

// `before`: what stands in front of the text in its file.
void read_lines(const fs::path& path, std::string_view text, const Reader& reader,
                std::string_view before = "") {
  for (auto number = 1 + std::ranges::count(before, '\n'); !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return;  // cut short
    try {
      read_line(parse_json_object(text.substr(0, end), "it", kLineLimits), reader);
    } catch (const std::exception& e) {
      throw ConfigError("{}: line {} is not a verdict of this program: {}", path.string(), number, e.what());
    }
    text.remove_prefix(end + 1);
  }
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string line_of(const std::string& digest, const Verdict& verdict) {
  return line_of(Json{{"digest", digest}, {"verdict", verdict}});
}

std::string line_of_asked(const std::string& digest) { return line_of(Json{{"asked", digest}}); }

}  // namespace

VerdictJournal::VerdictJournal(fs::path path, uint64_t known_bytes,
                               const std::function<void(const std::string& digest, const Verdict&)>& known) {
  const fs::path later = path.string() + ".replay";
  const std::string text = fs::exists(path) ? read_file(path) : "",
                    kept_later = fs::exists(later) ? read_file(later) : "";
  const size_t split = size_t(std::min<uint64_t>(known_bytes, text.size()));
  const std::string_view all = text;
  const Reader keep{[&](const std::string& digest, const Verdict& verdict) {
                      replay_.insert_or_assign(digest, verdict);
                      unanswered_.erase(digest);
                    },
                    [&](const std::string& digest, bool answered) {
                      if (answered)
                        unanswered_.erase(digest);
                      else if (!replay_.contains(digest))
                        unanswered_.insert(digest);
                    }};
  read_lines(later, kept_later, keep);
  read_lines(path, all.substr(split), keep, all.substr(0, split));
  read_lines(path, all.substr(0, split),
             {[&](const std::string& digest, const Verdict& verdict) {
                replay_.erase(digest);
                unanswered_.erase(digest);
                known(digest, verdict);
              },
              [](const std::string&, bool) {}});
  std::string kept;
  for (const auto& [digest, verdict] : replay_) kept += line_of(digest, verdict);
  for (const std::string& digest : unanswered_) kept += line_of_asked(digest);
  write_file_atomic(later, kept);
  if (split < text.size()) cut_file(path, split);
  file_ = AppendFile(path);
}

bool VerdictJournal::ask(const std::string& digest) {
  file_.append(line_of_asked(digest));
  return unanswered_.erase(digest) > 0;
}

std::optional<Verdict> VerdictJournal::replay(const std::string& digest) {
  const auto found = replay_.find(digest);
  if (found == replay_.end()) return std::nullopt;
  const Verdict verdict = found->second;
  replay_.erase(found);
  return verdict;
}

void VerdictJournal::add(const std::string& digest, const Verdict& verdict, const std::string& asked) {
  Json json{{"digest", digest}, {"verdict", verdict}};
  if (!asked.empty() && asked != digest) json["asked"] = asked;
  file_.append(line_of(json));
}

}  // namespace temper::env
