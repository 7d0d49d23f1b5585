#pragma once
// Messages between the broker of a GPU and its two processes, as those of env/call/protocol.h: fixed-size,
// versioned, one per packet. Both processes speak first, with sequence 0: ready, or why not.
//
//   broker ⇄ GPU runner   descriptor 3: GpuRunnerRequest / GpuRunnerReply; 4: memory with the candidate's
//                         cubins and plans; 5: the exchange, GPU memory that the oracle has made, for outputs
//   broker ⇄ GPU oracle   descriptor 3: GpuOracleRequest / GpuOracleReply, its first reply with the
//                         exchange's descriptor; 4: the task list as JSON text
//
// A profiler is a runner that answers kLoad, of one plan, and kProfile alone.
//
// Calls and draws come in batches: handing a GPU from one process to another takes longer than most calls.
//
// The exchange is mapped into the runner's context, where candidates can reach it: for the full judge the
// oracle only ever reads it. The outputs of a call lie there while the next ones of its batch are made; the
// runner seals them with a digest when the call has ended, and the oracle takes nothing whose seal is broken.

#include "env/call/protocol.h"
#include "env/gpu/case.h"
#include "env/gpu/specs.h"
#include "env/plan/plan.h"
#include "env/plan/target.h"

namespace temper::env {

inline constexpr int kMaxPlans = kMaxShapes;  // one for each
inline constexpr int64_t kCubinAlign = 64;
static_assert(kMaxDraws == kMaxTensors);

struct GpuFactsWire {
  char name[128] = {}, uuid[64] = {};
  int32_t capability = 0, multiprocessors = 0, driver = 0;
  int64_t memory_bytes = 0, l2_bytes = 0;
  double bytes_per_s = 0, clock_hz = 0;
  GpuTarget target;
};

// ---- broker ⇄ runner --------------------------------------------------------------------------------------

enum class GpuRunnerOp : uint32_t {
  kLoad =
      1,    // the cubins, each at the next multiple of kCubinAlign in the memory, then the plans back to back
  kCall,    // each call: draw, call, look at what is left, hand the outputs over; those that are timed
            // end when together they have taken long
  kRepeat,  // call again and again on the same buffers, by the host's clock
  kProfile,  // call under CUPTI, reply, unload
  kUnload,   // forget the candidate and prove that the GPU still computes
};

struct GpuCall {
  int32_t plan = 0;
  int32_t inputs = 0, outputs = 0;
  DrawSpec input[kMaxTensors];
  int64_t output_bytes[kMaxTensors] = {};
  ElementType output_type[kMaxTensors] = {};
  GpuFill fill;       // the fill of outputs, workspaces and guards
  uint64_t seal = 0;  // the key of the first output's digest, and one more for each of the others
  Placement placement = Placement::kPacked;  // apart: every buffer fits a window (GpuWindowSizes)
};

struct GpuRunnerRequest {
  MessageHeader header;
  GpuRunnerOp op = GpuRunnerOp::kCall;
  int32_t cubins = 0, plans = 0;  // kLoad
  int64_t cubin_bytes[kMaxPlanCubins] = {};
  int64_t plan_bytes[kMaxPlans] = {};
  uint32_t timed = 0;        // 1: with a cold L2 cache
  uint32_t knocked_out = 0;  // 1: without the plan's kernels; its memsets and copies are done
  uint32_t naive = 0;        // 1: outputs start with the contents of the exchange, and nothing is checked
  int32_t profiled = 1;      // kProfile: how often to call at most; the fastest counts
  int32_t calls = 0;         // kCall: the number of calls; other requests use only the first
  GpuCall call[kMaxBatch];
};

enum class GpuRunnerStatus : uint32_t {
  kOk = 0,
  kBadPlan,       // a plan that breaks its rules
  kLoadFailed,    // the driver refuses a cubin, or it lacks a kernel
  kLaunchFailed,  // a launch failed and left the context intact
  kNoMemory,      // the plan's workspaces do not fit
  kTaskTooLarge,  // the task itself does not fit into memory
  kCrashed,       // the context is lost
  kInputChanged,
  kGuardBroken,
  kTableChanged,
  kBroken,  // ours: the request is wrong, the machine fails
};

// The profile of a call on the GPU. Times are in microseconds, summed over all launches of a part.
inline constexpr int kMaxProfileParts = 8;
struct ProfilePart {
  char name[64] = {};
  uint32_t launches = 0;
  double us = 0;
};
struct ProfileWire {
  int32_t parts = 0;  // number of parts, longest first; 0 if CUPTI lost records of this call
  ProfilePart part[kMaxProfileParts];
  double device_us = 0, kernel_us = 0;  // time during which anything ran, and during which a kernel ran
  char foreign[64] = {};                // evidence that other kernels than the plan's ran
};

struct GpuRunnerReply {
  MessageHeader header;
  GpuRunnerStatus status = GpuRunnerStatus::kBroken;
  int32_t calls = 0;                // kCall: calls that were made and in order, even if a later one failed
  double call_us[kMaxBatch] = {};   // kCall: time between events around the plan
  uint64_t digest[kMaxBatch] = {};  // kCall: digest of the outputs
  double watched_us = 0;            // kCall: the fastest call timed by the host's clock; 0 if there was none
  double repeat_us = 0;             // kRepeat: time of a call by the host's clock
  uint32_t host_bound = 0;          // kRepeat: 1 if that is the time of launching, not of the GPU
  GpuFactsWire gpu;                 // the first reply
  ProfileWire profile;              // kProfile
  char reason[64] = {};             // the driver's name of the error: illegal_address, invalid_value, …
  char error[256] = {};
};

// ---- broker ⇄ oracle --------------------------------------------------------------------------------------

// Works on some draws: they are drawn unless the last request began with the same.
struct GpuOracleRequest {
  MessageHeader header;
  uint32_t task = 0;
  int32_t draws = 0;
  GpuDraw draw[kMaxBatch];
  uint64_t digest[kMaxBatch] = {};  // the runner's digests of the outputs, to be compared
  uint32_t baseline = 0;            // 1: time the reference, eagerly, with a cold L2 cache
  uint32_t settle = 0;              // 1: reply with the kinds of draws for these turns, without drawing
  uint32_t compare = 0;             // 1: compare the outputs in the exchange with the f64 reference
  // For the naive judge, on one draw:
  uint32_t give_away = 0;  // 1: write the eager result into the exchange
  uint32_t warm = 0;       // 1: time the reference, again and again on the same data
  uint32_t allclose = 0;   // 1: compare the outputs in the exchange with the eager result
};

enum class GpuOracleStatus : uint32_t {
  kOk = 0,
  kMismatch,
  kSealBroken,  // not what the call had left
  kError,
  kTaskTooLarge,  // for this GPU's memory; the other tasks can be judged
  kUserError,     // in the first reply alone
};

struct GpuOracleReply {
  MessageHeader header;
  GpuOracleStatus status = GpuOracleStatus::kError;
  double baseline_us[kMaxBatch] = {};          // for each draw
  DrawKind kind[kMaxBatch][kMaxTensors] = {};  // to settle: as in GpuDraw
  uint8_t far[kMaxBatch][kMaxTensors] = {};
  int32_t exact = 0;  // draws for which the reference was asked in double precision
  int32_t draw = 0;   // kMismatch, kSealBroken: the first
  // kMismatch: the worst element
  int32_t tensor = 0;
  uint32_t unwritten = 0;
  int64_t index = 0;  // flat
  double got = 0, expected = 0;
  int64_t wrong = 0;      // number of elements out of bounds
  MismatchReport report;  // details of all outputs
  char error[512] = {};   // in a first reply with kOk: the other processes that compute on the GPU
};

}  // namespace temper::env
