#pragma once
// Numbers of weights that are infinite or none, and those that another type cannot hold.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "policy/hugging_face/weight_conversion.h"

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

// The place of a number in a tensor, "[3, 17]".
std::string place_in(const std::vector<int64_t>& shape, int64_t index);

// Collects what pieces of tensors hold, from any thread, and keeps the first one in the order of the parameters.
class TooLargeNumbers {
 public:
  // `begin`: the index in the tensor of the piece's first number; `offset`: of the tensor among all; `tensor`: as
  // messages name it.
  void add(const std::string& tensor, const std::vector<int64_t>& shape, int64_t offset, int64_t begin,
           const TooLarge& found);
  // Errors: ConfigError naming the first number, its tensor, its place there, the type's largest number and the types
  // that could hold it.
  void throw_if_any(at::ScalarType type) const;

 private:
  mutable std::mutex mutex_;
  int64_t count_ = 0, first_ = std::numeric_limits<int64_t>::max();
  double value_ = 0;
  std::string place_;
};

}  // namespace temper::policy
