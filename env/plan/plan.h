#pragma once
// What a candidate's launcher does on a GPU, as data: which kernels of its cubins run in which order, with which
// arguments.
// A plan belongs to one shape of one task; the cubins travel beside it.
//
// A plan is written by a process in which untrusted code ran. Its reader parses it, so that every field is within
// the limits below, and checks it against the buffers of its shape (check_plan) and the kernels of its cubins
// (env/plan/gate.h). After that each pointer lies in a buffer, each kernel exists, and CUDA accepts each launch.
//
// A launcher that tunes itself leaves choices open. Only a plan without choices can run; resolve() makes one.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace temper::env {

// Limits of a plan, not of a GPU.
inline constexpr uint32_t kMaxPlanCubins = 256;  // of a candidate, over all its plans
inline constexpr uint32_t kMaxPlanKernels = 256;
inline constexpr uint32_t kMaxPlanSteps = 4096;
inline constexpr uint32_t kMaxPlanWorkspaces = 256;
inline constexpr int64_t kMaxWorkspaceBytes = int64_t(64) << 30;  // all workspaces together
inline constexpr uint32_t kMaxKernelNameBytes = 8192;
inline constexpr uint32_t kMaxArgumentBytes = 32764;  // CUDA's own limit
inline constexpr uint32_t kMaxRelocations = 1024;     // per launch
inline constexpr uint32_t kMaxTensorMaps = 64;        // per launch
inline constexpr uint32_t kMaxTensorRank = 5;
inline constexpr uint32_t kTensorMapBytes = 128;  // of CUtensorMap
inline constexpr uint32_t kMaxSlots = 16, kMaxChoices = 256, kMaxAlternatives = 64;
inline constexpr uint32_t kMaxConfigurations = 4096, kMaxAlternativeText = 512;
inline constexpr size_t kMaxPlanBytes = size_t(8) << 20;

enum class Space : uint8_t { kInput = 0, kOutput = 1, kWorkspace = 2 };

// An address in a buffer that only the runner knows.
struct DevicePointer {
  Space space = Space::kInput;
  uint32_t index = 0;  // into the task's inputs or outputs, or into LaunchPlan::workspaces
  int64_t offset = 0;  // bytes from the buffer's begin; at most one past its end
  bool operator==(const DevicePointer&) const = default;
};

// The 8 bytes at `at` of a kernel's arguments are this address.
struct Relocation {
  uint32_t at = 0;
  DevicePointer pointer;
  bool operator==(const Relocation&) const = default;
};

// The 128 bytes at `at` of a kernel's arguments are what cuTensorMapEncodeTiled makes of this address and these
// fields, with element strides of 1, no interleaving, and L2 promotion by 128 bytes. Dimension 0 is the innermost.
struct TensorMap {
  uint32_t at = 0;
  DevicePointer pointer = {};
  uint8_t element_type = 0;           // CUtensorMapDataType, none that is packed
  uint8_t swizzle = 0;                // CUtensorMapSwizzle: none, 32, 64 or 128 bytes
  uint8_t fill = 0;                   // CUtensorMapFloatOOBfill: 1 reads NaN outside
  std::vector<int64_t> sizes = {};    // elements of each dimension
  std::vector<int64_t> strides = {};  // bytes, of dimension 1 and each further one
  std::vector<uint32_t> box = {};     // elements of each dimension that one copy moves
  bool operator==(const TensorMap&) const = default;
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
  bool operator==(const Extent&) const = default;
};

struct KernelLaunch {
  uint32_t kernel = 0;  // index into LaunchPlan::kernels
  Extent grid, block;
  Extent cluster;  // 1, 1, 1: the launch asks for none; __cluster_dims__ of the kernel holds all the same
  uint32_t shared_bytes = 0;  // dynamic shared memory
  bool cooperative = false;   // all blocks are on the GPU at once
  bool programmatic =
      false;  // may begin before the previous step has ended (programmatic stream serialization)
  // The kernel's parameters as they lie in memory, in the form that CU_LAUNCH_PARAM_BUFFER_POINTER takes. Pointers
  // and tensor maps are 0 here and are filled in when the plan runs. Both lists are in rising order, and nothing
  // of them overlaps.
  std::vector<uint8_t> arguments = {};
  std::vector<Relocation> relocations = {};
  std::vector<TensorMap> tensor_maps = {};
  bool operator==(const KernelLaunch&) const = default;
};

// `count` elements of `width` bytes (1, 2 or 4) get `value`.
struct Memset {
  DevicePointer to;
  uint32_t value = 0;
  uint32_t width = 1;
  int64_t count = 0;
  int64_t bytes() const { return count * width; }
  bool operator==(const Memset&) const = default;
};

struct Copy {  // on the device; the two do not overlap
  DevicePointer to, from;
  int64_t bytes = 0;
  bool operator==(const Copy&) const = default;
};

using Step = std::variant<KernelLaunch, Memset, Copy>;

struct PlanKernel {
  std::string name;                 // mangled, as the cubin has it; other cubins may have the same name
  uint32_t max_dynamic_shared = 0;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES; 0: never set
  int32_t shared_carveout =
      -1;  // CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT in percent; -1: never set
  bool nonportable_cluster = false;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
  uint32_t cubin = 0;                // index into GpuCandidate::cubins
  bool operator==(const PlanKernel&) const = default;
};

// One way to make a launch that is tuned.
struct Alternative {
  uint32_t configuration = 0;  // its index in the tuner's list
  std::string text;            // printable: "BLOCK: 256, num_warps: 4"
  std::vector<Step> steps;
  bool operator==(const Alternative&) const = default;
};

// The steps of one alternative belong in front of step `at`, behind those of earlier choices there. A slot is a
// tuner together with the key that it tunes for; all choices of a slot take the same configuration.
struct Choice {
  uint32_t at = 0;  // rises from choice to choice; at most the number of steps
  uint32_t slot = 0;
  std::vector<Alternative> alternatives;  // at least one; no configuration twice
  bool operator==(const Choice&) const = default;
};

struct LaunchPlan {
  std::vector<PlanKernel> kernels;
  std::vector<int64_t> workspaces;  // bytes each, > 0; undefined content at every call, aligned to 256 bytes
  std::vector<Step> steps;          // one after another, as if in one stream
  std::vector<Choice> choices = {};
  int64_t workspace_bytes() const;
  bool operator==(const LaunchPlan&) const = default;
};

// Little-endian, versioned. The plan must be one that parse_plan takes.
std::string serialize(const LaunchPlan& plan);

// Parses the bytes into `plan` and returns "", or returns what is wrong with them. Never throws, never reads out of
// bounds, and allocates O(size of `bytes`).
std::string parse_plan(std::string_view bytes, LaunchPlan& plan);

// Bytes of each buffer that a call of the task has at the plan's shape.
struct PlanBuffers {
  std::vector<int64_t> inputs, outputs;
};

// "" or what is wrong: a pointer outside its buffer, a memset or a copy that leaves it or writes an input.
std::string check_plan(const LaunchPlan& plan, const PlanBuffers& buffers);

// Slots and the configurations that they take. A choice whose slot has none here, or one that it does not offer,
// takes its first alternative.
using Configurations = std::map<uint32_t, uint32_t>;

// The plan with its choices made, and without the kernels and workspaces that no step uses then; a plan without
// choices as it is.
LaunchPlan resolve(const LaunchPlan& plan, const Configurations& configurations);

// The steps and those of all alternatives.
std::vector<const Step*> all_steps(const LaunchPlan& plan);

// A line per kernel, workspace, step and alternative, for people.
std::string plan_text(const LaunchPlan& plan);

}  // namespace temper::env
