#include "env/verdict_cache.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace temper {

VerdictCache::VerdictCache(const std::string& path) {
  if (path.empty()) return;
  if (std::filesystem::exists(path)) read(path);
  file_.reset(std::fopen(path.c_str(), "ae"));
  if (!file_) throw system_error(fmt::format("open the verdict cache (env.cache) {}", path));
}

void VerdictCache::read(const std::string& path) {
  std::ifstream lines(path);
  std::string whole;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.contains("digest") || !json.contains("verdict")) continue;
    verdicts_[json["digest"]] = json["verdict"].get<Verdict>();
    whole += line + "\n";
  }
  if (whole.size() != std::filesystem::file_size(path)) write_file_atomic(path, whole);
}

std::optional<Verdict> VerdictCache::find(const std::string& digest) const {
  const auto it = verdicts_.find(digest);
  if (it == verdicts_.end()) return std::nullopt;
  Verdict verdict = it->second;
  verdict.cached = true;
  return verdict;
}

void VerdictCache::add(const std::string& digest, const Verdict& verdict) {
  verdicts_[digest] = verdict;
  if (!file_) return;
  std::fputs((nlohmann::json{{"digest", digest}, {"verdict", verdict}}.dump() + "\n").c_str(), file_.get());
  std::fflush(file_.get());
}

}  // namespace temper
