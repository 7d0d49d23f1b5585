#pragma once
// The facts that must be the same on all ranks, as text: program, libraries, options, files, environment.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace temper::trainer {

struct RunConfig;

// Pairs of a fact's name and its value. A fact precedes those that follow from it.
using RankIdentity = std::vector<std::pair<std::string, std::string>>;

RankIdentity identity_of(const RunConfig& config);

struct Difference {
  std::string what, first, other;  // a value that is missing is empty
};
std::optional<Difference> find_difference(const RankIdentity& first, const RankIdentity& other);

}  // namespace temper::trainer
