#pragma once
// What must be the same on all ranks, in words: program, libraries, options, files, environment.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace temper {

struct RunConfig;

// What it is → its value; the cause before what follows from it.
using RankIdentity = std::vector<std::pair<std::string, std::string>>;

RankIdentity identity_of(const RunConfig& config);

struct Difference {
  std::string what, first, other;  // a value that is missing is empty
};
std::optional<Difference> find_difference(const RankIdentity& first, const RankIdentity& other);

}  // namespace temper
