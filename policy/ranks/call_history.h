#pragma once
// A rank's last collective calls, as it tells them to another rank, and where those of several ranks part.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace temper {

// Calls are counted from 1. A history begins behind a multiple of kMarkEvery calls, so that the digests in
// front of the younger of two histories are there in both.
struct CallHistory {
  static constexpr uint64_t kMarkEvery = 64;

  uint64_t first = 1;              // the number of the oldest call
  std::vector<uint64_t> marks;     // the digest in front of call first + kMarkEvery · i
  std::vector<std::string> texts;  // "all-reduce \"gradient norm\" of 1 × f64", each once
  std::vector<uint32_t> calls;     // the text of each call

  uint64_t end() const { return first + calls.size(); }
  bool has(uint64_t call) const { return call >= first && call < end(); }
  const std::string& text(uint64_t call) const { return texts[calls[call - first]]; }
};

nlohmann::json to_json(const CallHistory& history);
// Errors: an exception where it is none.
CallHistory history_from(const nlohmann::json& json);

// Where ranks have made different calls.
struct Parting {
  int rank = -1;        // who is unlike the most; where nobody is in the majority, one of two who differ
  int other = -1;       // then the other one; else -1
  std::string what;     // "has made other collective calls than the others: it left out call 57, the …"
  bool certain = true;  // false: ranks that have not come there yet may decide it
};

// Of histories by rank, of one communicator; null: that rank has not told. None: no two of them differ. A
// call that was left out is told from one that was added by what came behind it, here or earlier in the run.
std::optional<Parting> find_parting(const std::vector<const CallHistory*>& by_rank);

// "rank 1", "ranks 0 and 2", "ranks 0, 1, 2 and 5 more".
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace temper
