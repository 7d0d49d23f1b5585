#pragma once
// Messages between the broker and a plan box: fixed-size, as those of env/call/protocol.h, on descriptor 3; the arena
// (memfd) is on 4.
//
// The box sends the first message: a reply with sequence 0 once it is locked down. Then it receives one request to
// load: the arena begins with the shared object, and the cubin follows. From then on untrusted code runs in the box and
// its replies are not trusted. Each further request is for one shape; the arena of a kPlanned begins with the plan.

#include "env/call/protocol.h"
#include "env/plan/plan.h"
#include "env/plan/target.h"

namespace temper::env {

inline constexpr int64_t kRecorderArenaBytes = 2 * int64_t(kMaxPlanBytes);

enum class RecorderOp : uint32_t { kLoad = 1, kRecord };

struct RecorderRequest {
  MessageHeader header;
  RecorderOp op = RecorderOp::kLoad;
  // kLoad
  int64_t object_bytes = 0, cubin_bytes = 0;
  int64_t workspace_bytes = 0;  // what cudaMalloc may give out
  GpuTarget target;
  // kRecord
  uint32_t inputs = 0, outputs = 0, dims = 0;
  int64_t buffer_bytes[kMaxTensors] = {};  // inputs, then outputs
  int64_t dim[kMaxDims] = {};
};

enum class RecorderStatus : uint32_t { kReady = 1, kLoaded, kPlanned, kFailed, kSandboxFailed };

struct RecorderReply {
  MessageHeader header;
  RecorderStatus status = RecorderStatus::kSandboxFailed;
  uint32_t user_dropped = 0;  // kReady
  int64_t plan_bytes = 0;     // kPlanned
  uint32_t kind = 0;          // kFailed: a VerdictKind
  char reason[32] = {};       // kFailed; these end with 0
  char detail[400] = {};      // kFailed, kSandboxFailed
};

}  // namespace temper::env
