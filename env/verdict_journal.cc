#include "env/verdict_journal.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

using Reader = std::function<void(const std::string& digest, const Verdict&)>;

void read_lines(const std::string& text, const Reader& reader) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("digest") && json.contains("verdict"))
      reader(json["digest"], json["verdict"].get<Verdict>());
  }
}

std::string line_of(const std::string& digest, const Verdict& verdict) {
  const nlohmann::json json = {{"digest", digest}, {"verdict", verdict}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

VerdictJournal::VerdictJournal(fs::path path, uint64_t known_bytes, const Reader& known) {
  const fs::path later = path.string() + ".replay";
  const std::string text = fs::exists(path) ? read_file(path) : "";
  const size_t split = size_t(std::min<uint64_t>(known_bytes, text.size()));
  const auto keep = [&](const std::string& digest, const Verdict& verdict) {
    replay_.insert_or_assign(digest, verdict);
  };
  if (fs::exists(later)) read_lines(read_file(later), keep);
  read_lines(text.substr(split), keep);
  read_lines(text.substr(0, split), [&](const std::string& digest, const Verdict& verdict) {
    replay_.erase(digest);
    known(digest, verdict);
  });
  std::string kept;
  for (const auto& [digest, verdict] : replay_) kept += line_of(digest, verdict);
  write_file_atomic(later, kept);
  if (split < text.size()) fs::resize_file(path, split);
  file_.reset(std::fopen(path.c_str(), "ae"));
  if (!file_) throw system_error(fmt::format("open {}", path.string()));
}

std::optional<Verdict> VerdictJournal::replay(const std::string& digest) {
  const auto found = replay_.find(digest);
  if (found == replay_.end()) return std::nullopt;
  const Verdict verdict = found->second;
  replay_.erase(found);
  return verdict;
}

void VerdictJournal::add(const std::string& digest, const Verdict& verdict) {
  std::fputs(line_of(digest, verdict).c_str(), file_.get());
  std::fflush(file_.get());
}

}  // namespace temper
