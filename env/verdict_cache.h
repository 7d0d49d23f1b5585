#pragma once
// Verdicts by digest of everything that decided them, in memory and, where asked, in a file that outlives the
// run.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "env/verdict.h"

namespace temper {

class VerdictCache {
 public:
  // `path` empty: memory only. Reads the lines the file has; a last line that was cut short is dropped.
  // Errors: WorldError if the file cannot be opened for appending.
  explicit VerdictCache(const std::string& path);

  std::optional<Verdict> find(const std::string& digest) const;  // marked as cached
  void add(const std::string& digest, const Verdict& verdict);
  size_t size() const { return verdicts_.size(); }

 private:
  void read(const std::string& path);
  std::unordered_map<std::string, Verdict> verdicts_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
};

}  // namespace temper
