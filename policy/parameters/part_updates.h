#pragma once
// The optimizer's update of the parts that a rank owns, wherever their master weights and moments lie. Those in the host's
// memory pass through memory of the device, piece by piece: while one is updated, the next comes and the one before goes back.
// Source: Rajbhandari et al., ZeRO-Infinity, 2104.07857, section 5.1.2. ZeRO-Offload (2101.06840) updates on the host's cores.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/ops/adamw.h"
#include "policy/parameters/stage_copies.h"

namespace temper::policy {

class ParameterStore;
struct ParameterPart;

// Of one update. Exact: the same bits wherever the numbers lie.
class PartUpdates {
 public:
  static constexpr int64_t kPiece = int64_t(16) << 20;  // numbers that pass at once

  explicit PartUpdates(const ParameterStore& store, int64_t piece = kPiece);
  ~PartUpdates();

  // adamw() of flat.h.
  void adamw(const ParameterPart& part, const AdamWFactors& factors);
  // Until the numbers on the host are the new ones.
  void finish();

  // Of the device, where master weights and moments of a share of so many numbers lie on the host.
  static int64_t stage_bytes(int64_t share_size);

 private:
  struct Stage {
    at::Tensor master, moment1, moment2;  // [piece]
  };
  void update_piece(const ParameterPart& part, int64_t begin, const AdamWFactors& factors);

  const int64_t piece_;
  std::vector<Stage> stages_;  // none where all lies on the device
  std::unique_ptr<StageCopies> copies_;
  size_t next_ = 0;
};

}  // namespace temper::policy
