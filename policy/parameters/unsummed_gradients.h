#pragma once
// Gradients that a backward has added up on one rank, before they are summed over ranks.
//
// ZeRO-1 keeps the gradients of all units, and sums them once an update. ZeRO-2 keeps those of two blocks, which the
// blocks take in turn: while one block's gradient is summed over the ranks, the backward adds that of the block before it
// to the other. Embedding and final unit have memory of their own. It is the same memory where a head that is not the
// embedding belongs to the final unit, because such a head's gradient is complete long before the embedding's begins.
// Async: sums run beside the current stream, which waits for a sum where its memory is needed again.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/ranks/communicator.h"

namespace temper::policy {

// Parameters whose gradients the backward finishes together. With several ranks a unit is padded, so that the ranks'
// shares are equal and aligned.
struct ParameterUnit {
  int64_t offset = 0, size = 0;  // elements into the flat weights
  std::string name;              // model.embed_tokens, model.layers.0, …
  int64_t padding = 0;           // the last elements, which are no parameter's
  bool has_head = false;         // the output head, which is not the embedding, is one of its parameters
};

class UnsummedGradients {
 public:
  // The units are the embedding's, the blocks' and the final one. `shares` [the units' sizes over the ranks, one after
  // another] is what the sums are added to, in the dtype and on the device of the gradients.
  UnsummedGradients(std::vector<ParameterUnit> units, int64_t zero_stage, Communicator& ranks,
                    at::Tensor shares);

  // Elements of all memory that is kept for gradients of such units.
  static int64_t size(const std::vector<ParameterUnit>& units, int64_t zero_stage);

  // The memory of a unit's gradient, [the unit's size].
  at::Tensor of(size_t unit);
  // The backward of a unit begins to write there. Returns whether a gradient is there, to which it adds; else the memory
  // may hold anything but for the unit's padding, which is zero. If another unit has the same memory, its sum was started.
  bool begin(size_t unit);
  // A unit's gradient is complete, or there is none: its sum over ranks begins. The memory of the unit before it, whose
  // backward comes next, may be written afterwards. All ranks call it for the same units in the same order.
  void start_sum(size_t unit);
  // All sums that were started are in the shares.
  void finish_sums();
  // The same, and the next sums take the place of what is in the shares.
  void finish_update();

 private:
  struct Memory {
    at::Tensor gradient;
    bool begun = false;               // a gradient is there that is not being summed
    std::optional<size_t> unit = {};  // whose sum was started
    bool adds = false;                // that sum is still to be added to the share
    Handle sum = {};
  };
  Memory& memory_of(size_t unit);
  void finish(Memory& memory);
  at::Tensor share_of(size_t unit) const;

  std::vector<ParameterUnit> units_;
  int64_t zero_stage_;
  Communicator& ranks_;
  at::Tensor shares_;
  std::vector<const char*> names_;  // of the sums
  std::vector<Memory> memories_;
  std::vector<bool> in_share_;  // by unit: there is a sum of this update
};

}  // namespace temper::policy
