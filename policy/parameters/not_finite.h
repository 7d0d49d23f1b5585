#pragma once
// Numbers of weights that are infinite or none.

#include <cstdint>
#include <string>

namespace temper::policy {

class Communicator;

struct NotFinite {
  int64_t count = 0;
  std::string where = "";  // the first: "model.safetensors: tensor 'x': 3 of its numbers from number 0 on"
};

// The sum over all ranks, on all ranks; `where` comes from the first rank that has such numbers.
NotFinite over_ranks(const NotFinite& mine, Communicator& ranks);

// "2 numbers are not finite, the first in …"; empty if all are finite.
std::string to_text(const NotFinite& found);

}  // namespace temper::policy
