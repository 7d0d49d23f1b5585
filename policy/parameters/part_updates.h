#pragma once
// The optimizer's update of the parts that a rank owns, wherever their master weights and moments lie. Those in the host's
// memory pass through memory of the device, piece by piece: while one is updated, the next comes and the one before goes back.
// Source: Rajbhandari et al., ZeRO-Infinity, 2104.07857, section 5.1.2. ZeRO-Offload (2101.06840) updates on the host's cores.

#include <cstdint>
#include <functional>

#include "policy/ops/adamw.h"

namespace temper::policy {

class ParameterStore;
struct ParameterInfo;

constexpr int64_t kUpdatePiece = int64_t(16) << 20;  // numbers that pass at once

// adamw() of flat.h for all parts. A unit's weights go to the other ranks while the next one's are moved. On return the numbers
// on the host are the new ones. Exact: the same bits wherever the numbers lie.
void update_parts(ParameterStore& store,
                  const std::function<const AdamWFactors&(const ParameterInfo&)>& factors_of,
                  int64_t piece = kUpdatePiece);

// Memory of the device that this takes where master weights and moments of a share of so many numbers lie on the host.
int64_t update_stage_bytes(int64_t share_size);

}  // namespace temper::policy
