#pragma once
// The whole weights of a few units, gathered from the ranks' shares while the policy computes with them (ZeRO-3).
//
// An embedding that is the head as well is needed at both ends of a pass, and stays in memory of its own until the optimizer
// has moved it. Else embedding and final unit take turns in one memory. The blocks take three memories in turn: while one of
// them computes, the two units that come next in the pass are gathered. A pass begins with the units at which the one before it
// ended.
// Source: Rajbhandari et al., 1910.02054, section 5.3; Zhao et al., "PyTorch FSDP" (VLDB 2023), section 3.3, for
// gathering ahead.
// Async: gathers run beside the current stream, which waits for a unit where it is needed.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/parameters/unsummed_gradients.h"
#include "policy/ranks/communicator.h"

namespace temper::policy {

// The order of the units: from the first to the last, or back.
enum class Pass : uint8_t { kForward, kBackward };

class GatheredWeights {
 public:
  // The units are the embedding's, the blocks' and the final one. Errors: WorldError if there is no memory for them.
  GatheredWeights(std::vector<ParameterUnit> units, Communicator& ranks, const at::TensorOptions& options);

  // Elements of all memory that is kept for such units.
  static int64_t size(const std::vector<ParameterUnit>& units);

  // Where a unit's weights lie, [the unit's size], between wait() for it and wait() for the next block.
  at::Tensor of(size_t unit) const;
  // The current stream waits for a unit, and the next ones begin to be gathered. `shares` [the units' sizes over the
  // ranks, one after another] are this rank's weights, or the numbers in f32 from which they are rounded. Whatever computes
  // with the unit before this one in the pass has been given to the current stream. All ranks call it for the same units in
  // the same order.
  void wait(size_t unit, Pass pass, const at::Tensor& shares);
  // The shares have other values from now on: what is asked for next is gathered anew.
  void forget(size_t unit);
  void forget();

 private:
  struct Memory {
    at::Tensor weights;
    std::optional<size_t> unit = {};  // whose weights are there, or on their way
    Handle gather = {};
  };
  Memory& memory_of(size_t unit);
  void start(size_t unit, const at::Tensor& shares);

  std::vector<ParameterUnit> units_;
  Communicator& ranks_;
  std::vector<const char*> names_;  // of the gathers
  std::vector<Memory> memories_;
};

}  // namespace temper::policy
