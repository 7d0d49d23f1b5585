#pragma once
// The optimizer's update of the parts that a rank owns, wherever their master weights and moments lie. Those in the host's
// memory pass through memory of the device, piece by piece: while one is updated, the next comes and the one before goes back.
// Source: Rajbhandari et al., ZeRO-Infinity, 2104.07857, section 5.1.2. ZeRO-Offload (2101.06840) updates on the host's cores.

#include <cstdint>
#include <functional>
#include <vector>

#include "policy/ops/adamw.h"

namespace temper::policy {

class ParameterStore;
struct ParameterInfo;
struct ParameterPart;

constexpr int64_t kUpdatePiece = int64_t(16) << 20;  // numbers that pass at once

// Applies adamw() of flat.h to all of store.parts(), each with the factors that `factors_of` gives for its parameter. A unit's
// weights go to the other ranks while the next unit is updated. When the function returns, master weights and moments that lie in
// the host's memory are the updated ones. The results have the same bits whether they lie there or on the device.
void update_parts(ParameterStore& store, const std::vector<ParameterPart>& parts,
                  const std::function<const AdamWFactors&(const ParameterInfo&)>& factors_of,
                  int64_t piece = kUpdatePiece);

// The bytes of device memory that update_parts takes on a rank whose share has `share_size` parameters, if their master weights
// and moments lie in the host's memory.
int64_t update_stage_bytes(int64_t share_size);

}  // namespace temper::policy
