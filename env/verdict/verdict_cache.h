#pragma once
// Verdicts by digest of everything that decided them, in memory or, where asked, in a file that outlives the
// run and that any number of processes of this machine share: ranks, cells of a sweep, other runs.
//
// The file is an SQLite database in WAL mode. Source: sqlite.org/wal.html.

#include <memory>
#include <optional>
#include <string>

#include "env/verdict/verdict.h"

namespace temper::env {

class VerdictCache {
 public:
  // `path` empty: memory only. Errors: ConfigError naming the file where it is something else, which is left
  // as it is; WorldError naming it if it cannot be opened, is damaged or is kept locked.
  explicit VerdictCache(const std::string& path);
  ~VerdictCache();

  // Errors of both: WorldError naming the file. A verdict that is found is marked as cached. One that cannot be
  // read, because it is damaged or a newer program wrote it, counts as not found; the first of these is reported
  // on standard error.
  std::optional<Verdict> find(const std::string& digest);
  void add(const std::string& digest, const Verdict& verdict);
  size_t size();
  int64_t unreadable() const;  // found so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::env
