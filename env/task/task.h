#pragma once
// A task: what a candidate has to compute, and how it is checked and timed.
//
// A task file is YAML: one task, a list of tasks, or `defaults:` and `tasks:`, where a task's own keys win.
// Shapes are written with the task's named dimensions, so that one task runs at many sizes. One file in full:
//
//   defaults: {family: softmax, magnitudes: [1, 30]}
//   tasks:
//     - name: row_softmax_bias
//       reference: torch.softmax(x + b, -1)     # an expression of the inputs, or `def reference(x, b): …`
//       inputs: {x: [n, m], b: [m]}
//       outputs: {y: [n, m]}
//       check: [{n: 3, m: 17}, {n: 16, m: 5}]   # small, odd, unequal
//       timed: {n: 256, m: 256}
//       split: heldout
//       flops: 5*n*m
//
// Keys of a task (default):
//   name         [a-z0-9_]+, unique          language     cpp, cuda or triton (cpp)
//   family       (other)                     split        train or heldout (train)
//   reference    PyTorch, TorchScript subset: an expression, or the source of one function `reference` that
//                takes the inputs in order and returns the output or outputs
//   inputs       name: [dimensions], or name: {shape: …} with any of
//                  type: f32 or i32, on GPUs also bf16 or f16 (f32)
//                  normal: true              N(0, 1) times the case's magnitude (default for floats)
//                  scaled: false             N(0, 1), not multiplied by the magnitude
//                  scale: 1/sqrt(k)          also multiplied by this number or expression of dimensions; weights
//                                            are scaled by their fan-in
//                  uniform: [low, high]      U(low, high) instead of normal
//                  distinct: [low, high]     like uniform, but no two elements are equal, so that sorting or
//                                            picking has one right answer (f32, at most 2^22 elements)
//                  below: n                  integers in [0, n), n a dimension or a number (needed for i32)
//                  nonfinite: true           some elements are NaN, +Inf or -Inf
//                  plain: true               every case is drawn as described above; without it, some cases
//                                            have spikes, offsets, ends of the range or equal indices
//   outputs      name: [dimensions], or name: {shape: …, type: …}
//   dims         the order of the dimension arguments (order of appearance)
//   check        sizes, a list of maps
//   timed        sizes, one map or a list of 1 to 8 of them, all different. Each shape is checked and timed by itself,
//                and all enter one score: the geometric mean of their speedups. One map and a list of that map alone are
//                the same task. The profile that is shown, a standalone program and the naive judge are of the first one.
//   magnitudes   standard deviations of normal inputs; each is checked (1)
//   tolerance    allowed error in units of the output's scale (1e-5)
//   bytes        least memory traffic at each of the timed sizes, a number or a product like 4*n*m (inputs + outputs)
//   flops        least arithmetic at each of the timed sizes (0)
//   max_speedup  a candidate that is faster at any timed shape is SUSPECT (50)

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "env/languages/language.h"
#include "env/task/element_type.h"
#include "env/task/module_problem.h"
#include "env/task/split.h"

namespace temper::env {

size_t element_size(ElementType type);                     // bytes
inline constexpr int64_t kMaxDistinct = int64_t{1} << 22;  // elements that f32 can tell apart in any range
inline bool is_float(ElementType type) { return type != ElementType::kI32; }

struct TensorSpec {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::string> shape;  // dimension names or integers
  // Inputs only:
  Distribution distribution = Distribution::kNormal;
  double low = 0, high = 1;  // kUniform, kDistinct
  std::string index_bound;   // kIndex: the dimension (name or integer) that bounds it, exclusive
  bool scaled = true;        // kNormal: multiplied by the case's magnitude
  std::string scale;         // kNormal: also multiplied by this expression of dimensions, unless it is empty
  bool nonfinite = false;    // kNormal: some elements are NaN, +Inf or -Inf
  bool plain = false;        // draws never depart from the distribution (env/call/draw_family.h)
};

using Shape = std::map<std::string, int64_t>;  // dimension → size

// A shape at which a task is timed, and the least work of an honest candidate there.
struct TimedShape {
  Shape sizes;
  double min_bytes = 0, min_flops = 0;  // as Task::min_bytes and min_flops
};
inline constexpr size_t kMaxTimedShapes = 8;

struct Task {
  std::string name;      // unique, [a-z0-9_]+
  std::string language;  // the name of one of env/languages
  std::string family;    // elementwise, reduction, …
  std::string split;     // one of Split
  // PyTorch source of one function `reference`, TorchScript subset, from the inputs to the outputs.
  std::string reference;
  std::vector<std::string> dims;  // dimension names in the order the candidate receives them
  std::vector<TensorSpec> inputs, outputs;
  std::vector<Shape> check_shapes;  // small, odd, unequal; never shown to the policy
  Shape timed_shape;                // the first of the timed shapes; most tasks have no other
  std::vector<double> magnitudes;   // standard deviations of normal inputs, each with a check of its own
  double tolerance = 0;             // relative floor, in units of the output's scale
  double min_bytes = 0;             // 0: inputs + outputs at the timed shape
  double min_flops = 0;
  double max_speedup = 0;                 // a candidate that is faster at any timed shape is SUSPECT
  std::vector<TimedShape> further_timed;  // the others; min_bytes and min_flops are of timed_shape
  // Of a problem whose reference is a module of PyTorch. `reference` is then the problem's whole source, and what says
  // tensors and sizes is empty: running the source alone shows them.
  std::optional<ModuleProblem> module = {};

  bool held_out() const { return split == Split::kHeldOut; }
  bool generated() const { return split == Split::kGenerated; }
  size_t timed_count() const { return 1 + further_timed.size(); }
  TimedShape timed(size_t index) const;           // 0: the first
  bool on_gpu() const;                            // Language::on_gpu
  std::vector<CallParameter> parameters() const;  // inputs, outputs, dimensions

  // The declaration a candidate defines: inputs, outputs, dimensions.
  //   cpp:  extern "C" void kernel(const float* x, const int* idx, float* y, int n, int m)
  //   cuda: extern "C" void launch(const __nv_bfloat16* x, __half* y, int n, int m), pointers into GPU memory
  //   triton: def launch(x: torch.Tensor, n: int, m: int) -> torch.Tensor:
  //   kernelbench: class ModelNew(nn.Module):
  std::string signature() const;
  // The task as a prompt for the policy, in plain text: shapes, the body of the reference, the signature. It names the
  // timed shapes if there are several.
  std::string prompt() const;
  std::string digest() const;  // digest of everything in the task that decides a verdict
};

struct ModuleOptions;

// One YAML file or every *.yaml below a folder, in name order; or problems in PyTorch, read with `modules`, whose notes are
// added to `notes` (env/task/module_reader.h).
// Errors: one ConfigError for all problems of all files, each with file, line, task, field, value and what is
//         allowed; as load_module_tasks.
std::vector<Task> load_tasks(const std::filesystem::path& path, const ModuleOptions& modules,
                             std::vector<std::string>* notes = nullptr);
std::vector<Task> load_tasks(const std::filesystem::path& path);  // with the defaults

// Tasks from YAML text; `origin` is named in errors.
std::vector<Task> parse_tasks(const std::string& yaml, const std::string& origin);

// The tasks that candidates in the language can solve, each asked in it: those of its own, and those of
// Language::also_tasks_of. Errors: as asked_in.
std::vector<Task> tasks_in(const Language& language, const std::vector<Task>& tasks);

// The same task, asked in another language. Its digest is another one. Errors: ConfigError if no candidate in that language
// could solve it.
Task asked_in(const Language& language, Task task);

// The task of that name. Errors: ConfigError with the nearest known name.
const Task& find_task(const std::vector<Task>& tasks, const std::string& name);

// A shape's number in messages between processes: i ≥ 0 is check shape i, −1 the first timed shape, −2 the second.
constexpr int32_t timed_number(size_t index) { return -1 - int32_t(index); }
constexpr size_t timed_index(int32_t number) { return size_t(-1 - number); }  // of a number below 0
std::vector<Shape> timed_shapes(const Task& task);                            // from the first to the last
// The shapes at which a task is checked, and behind them those at which it is timed.
std::vector<Shape> all_shapes(const Task& task);
size_t most_timed(const std::vector<Task>& tasks);  // timed shapes of the task that has most; at least 1
// The numbers of all shapes of a task lie in [first_shape, number of check shapes).
inline int32_t first_shape(const Task& task) { return -int32_t(task.timed_count()); }
const Shape& shape_of(const Task& task, int32_t number);  // Errors: std::out_of_range

std::string sizes_text(const Shape& shape);  // "m 64, n 256"

// "the timed shape", with its sizes if there are several: "the timed shape m 64, n 256".
std::string timed_words(const Task& task, size_t index);

// The sizes of a tensor at a shape. Checked at load: every dimension is defined.
std::vector<int64_t> tensor_sizes(const TensorSpec& tensor, const Shape& shape);
int64_t tensor_elements(const TensorSpec& tensor, const Shape& shape);
int64_t tensor_bytes(const TensorSpec& tensor, const Shape& shape);

// The standard deviation of a normal input in a case of that magnitude.
double normal_scale(const TensorSpec& input, const Shape& shape, double magnitude);

}  // namespace temper::env
