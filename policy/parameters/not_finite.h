#pragma once
// Numbers of weights that are infinite or none.

#include <cstdint>
#include <string>

namespace temper {

class Communicator;

struct NotFinite {
  int64_t count = 0;
  std::string where = "";  // the first: "model.safetensors: tensor 'x': 3 of its numbers from number 0 on"
};

// Of all ranks, on all ranks; `where` is the first rank's that has any.
NotFinite over_ranks(const NotFinite& mine, Communicator& ranks);

// "2 numbers are not finite, the first in …"; empty: all are.
std::string to_text(const NotFinite& found);

}  // namespace temper
