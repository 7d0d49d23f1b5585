#pragma once
// What the judge knows of a problem in PyTorch once it has opened it. Nothing that a candidate does changes it.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace temper::env {

struct ProblemNotes {
  // Answers that compute nothing and count as right all the same: "zeros", "copy", "mean", "constant", "stale". By the strict
  // verdict, and as KernelBench counts.
  std::vector<std::string> weak = {}, weak_comparable = {};
  std::vector<std::string> promises = {};  // what each draw of its inputs has: "input 0 is lower triangular"
  std::string unusable = {};               // why none of its answers can be judged; empty where they can
  bool operator==(const ProblemNotes&) const = default;
};

inline constexpr size_t kMostNotes = 32, kMostNoteBytes = 400;  // of each list; longer ones are cut

// Errors of from_json: std::exception where a field is of another type.
void to_json(nlohmann::json& json, const ProblemNotes& notes);
void from_json(const nlohmann::json& json, ProblemNotes& notes);

// "zeros, stale", or "none".
std::string weak_text(const std::vector<std::string>& weak);

}  // namespace temper::env
