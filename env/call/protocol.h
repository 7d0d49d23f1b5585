#pragma once
// Messages between the broker and its boxes: fixed-size, versioned, range-checked, one per SOCK_SEQPACKET packet.
//
//   broker ⇄ oracle   trusted; OracleRequest / OracleReply on descriptor 3, the oracle's arena (memfd) on 4, a
//                     control page on 5, the task list as JSON text (memfd, env/task/task_json.h) on 6
//   broker ⇄ runner   untrusted once the candidate is loaded; RunnerRequest / RunnerReply on descriptor 3, the
//                     runner's own arena on 4, a control page on 5
//
// Both speak first: one reply with sequence 0 says that the box is ready, or why it is not (an oracle: which task's
// reference does not compile). Both sizes of memory are those of the descriptors (fstat).
//
// The two arenas are different memory: the runner never maps what the oracle writes. The broker copies inputs in and
// outputs out, and compares guards and inputs itself.

#include <atomic>
#include <cstdint>

#include "env/call/mismatch_report.h"
#include "env/task/limits.h"

namespace temper::env {

inline constexpr uint32_t kProtocolMagic = 0x524D5054;  // "TPMR"
inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr int kMaxTimedDraws = 64;
static_assert(kMaxTensors <= kReportedOutputs);

struct MessageHeader {
  uint32_t magic = kProtocolMagic;
  uint32_t version = kProtocolVersion;
  uint32_t bytes = 0;     // sizeof the whole message
  uint32_t sequence = 0;  // a reply carries its request's
};

// ---- broker ⇄ oracle ------------------------------------------------------------------------------------------------

// The oracle arena holds `count` cases of one layout back to back, each at draw · case_layout().bytes.
//
// The oracle serves calls whose number is not 0, which is the value of `go` when kServe is sent. A call with
// dim[0] = draw runs the reference eagerly in f32 on that draw's inputs, in one thread, and keeps the outputs inside
// the oracle; a call with null_call does nothing. Errors are reported in the reply.
enum class OracleOp : uint32_t {
  kDraw = 1,   // draw inputs for draws [0, count) under `seed` into the arena
  kServe,      // answer calls on the control page until kStopServing, then reply: the timed baseline
  kCompare,    // compute the fp64 reference of draw `draw` and hold the outputs in the arena against it
  kNull,       // reply at once
  kReference,  // write the f32 reference of draw `draw` into the outputs in the arena (the naive judge's)
};

struct OracleRequest {
  MessageHeader header;
  OracleOp op = OracleOp::kNull;
  uint32_t task = 0;    // index into the task list both sides loaded
  int32_t shape = -1;   // a number as in shape_of (env/task/task.h)
  int32_t count = 0;    // kDraw: number of draws, ≤ kMaxTimedDraws
  int32_t draw = 0;     // kCompare
  int32_t perturb = 0;  // kDraw: 1 = draw 1.. repeat draw 0 with one element changed by much (the spike test)
  double magnitude = 1;  // kDraw: the magnitude of scaled normal inputs
  uint64_t seed = 0;     // kDraw: secret, made after the candidate was compiled
  uint64_t turn_key =
      0;  // kDraw: the verdict's key; its draws have numbers turn, turn + 1, … (env/call/draw_forms.h)
  int32_t turn = -1;       // kDraw: the number of the first draw; −1: all draws are plain
  int32_t timed = 0;       // kDraw: 1 if the calls on these draws are timed (DrawTurn)
  uint32_t fill_call = 0;  // kCompare: the fill of the call (env/call/fill.h), for what was left unwritten
  uint64_t fill_key = 0;
};

enum class OracleStatus : uint32_t { kOk = 0, kMismatch = 1, kError = 2 };

struct OracleReply {
  MessageHeader header;
  OracleStatus status = OracleStatus::kError;
  // kCompare: the worst element, where status is kMismatch
  int32_t tensor = 0;
  int64_t index = 0;  // flat
  double got = 0, expected = 0, allowed = 0;
  int64_t wrong = 0;      // number of elements out of bounds
  MismatchReport report;  // details of all outputs
  char error[512] = {};   // kError; ends with 0
};

// ---- broker ⇄ runner ------------------------------------------------------------------------------------------------

// kLoad: the shared object lies in the first `object_bytes` of the arena.
struct RunnerRequest {
  MessageHeader header;
  int64_t object_bytes = 0;
};

enum class RunnerStatus : uint32_t { kReady = 1, kLoaded, kLoadFailed, kSandboxFailed };

struct RunnerReply {
  MessageHeader header;
  RunnerStatus status = RunnerStatus::kSandboxFailed;
  uint32_t user_dropped = 0;  // kReady
  char error[256] = {};       // ends with 0; of kLoadFailed: the candidate's words
};

// The hand-over page for calls (env/call/handover.h). The broker writes the arguments, sets `go` to a new call number and
// wakes the box; the box makes the call and sets `done` to that number. A runner's page is not trusted: `done` only
// ends the broker's wait, and the outputs are judged as they are at that moment.
// A candidate is called with its tensors' addresses, inputs then outputs, and then its dimensions, in the task's order.
struct ControlPage {
  std::atomic<uint32_t> go{0};
  std::atomic<uint32_t> done{0};
  uint32_t null_call = 0;  // 1: make no call, only answer (calibration)
  uint32_t tensors = 0, dims = 0;
  int64_t tensor_offset[kMaxTensors] = {};
  int64_t dim[kMaxDims] = {};
  // Stretches of kGapBytes of the arena that are out of reach during the call; an access to one faults. None is for
  // the oracle.
  uint32_t gaps = 0;
  int64_t gap_offset[kMaxTensors + 1] = {};
};

inline constexpr uint32_t kStopServing = 0xFFFFFFFF;  // as `go`

}  // namespace temper::env
