#pragma once
// What was learned of problems in PyTorch by looking at them, in a file that outlives the run. It stands beside the verdict
// cache, and any number of processes add to it: a line of JSON a problem.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/files.h"

namespace temper::env {

class ProblemSizes {
 public:
  // Bytes of inputs, weights and outputs; none where they could not be told.
  using Sizes = std::optional<std::array<int64_t, 3>>;

  // `path` empty: in memory alone. A line that cannot be read counts as not there. A file that cannot be written or read is
  // no reason to end: then nothing is kept.
  explicit ProblemSizes(std::filesystem::path path);

  // By a digest of all that decides them; null if nothing was learned.
  const Sizes* find(const std::string& digest) const;
  void add(const std::string& digest, const Sizes& sizes);

 private:
  std::map<std::string, Sizes> known_;
  AppendFile file_;
};

// Calls `use` with each line of such a file that is an object. A line that cannot be read, or that `use` throws at, counts as not
// there, and so does a file that is not. Errors: ConfigError, WorldError if it cannot be read.
void for_each_problem_line(const std::filesystem::path& path,
                           const std::function<void(const nlohmann::json&)>& use);

// Where they are kept: beside the verdict cache, or without one in the user's folder for caches; empty if there is none.
std::filesystem::path problem_sizes_file(const std::string& verdict_cache);

}  // namespace temper::env
