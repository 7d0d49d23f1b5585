#pragma once
// A rank's last collective calls in the form in which they are sent to another rank, and where the histories of
// several ranks diverge.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace temper::policy {

// Calls are counted from 1. A history begins after a multiple of kMarkEvery calls, so that two histories that
// overlap have marks at the same calls.
struct CallHistory {
  static constexpr uint64_t kMarkEvery = 64;

  uint64_t first = 1;              // the number of the oldest call
  std::vector<uint64_t> marks;     // the digest before call first + kMarkEvery · i
  std::vector<std::string> texts;  // "all-reduce \"gradient norm\" of 1 × f64", each once
  std::vector<uint32_t> calls;     // the text of each call

  uint64_t end() const { return first + calls.size(); }
  bool has(uint64_t call) const { return call >= first && call < end(); }
  const std::string& text(uint64_t call) const { return texts[calls[call - first]]; }
};

nlohmann::json to_json(const CallHistory& history);
// Errors: an exception if the JSON is not a history.
CallHistory history_from(const nlohmann::json& json);

// The first call in which ranks differ.
struct Parting {
  int rank = -1;        // the rank that differs from the majority; without a majority, one of two that differ
  int other = -1;       // then the other one; else -1
  std::string what;     // "has made other collective calls than the others: it left out call 57, the …"
  bool certain = true;  // false: ranks that have not come there yet may decide it
};

// Compares one communicator's histories, which are indexed by rank; null stands for a rank that has not sent one.
// Empty if no two of them differ. Whether a call was left out or added is decided by the calls that follow it, here
// or earlier in the run.
std::optional<Parting> find_parting(const std::vector<const CallHistory*>& by_rank);

// "rank 1", "ranks 0 and 2", "ranks 0, 1, 2 and 5 more".
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace temper::policy
