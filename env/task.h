#pragma once
// What is asked of a candidate.
//
// A task file is YAML and holds one task or a list of them; the README's section on bringing one's own tasks shows
// one in full. Shapes are written with the task's named dimensions, so that one task runs at many sizes.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace temper {

enum class ElementType : uint8_t { kF32, kI32 };
size_t element_size(ElementType type);  // bytes

// How the oracle draws an input.
enum class Distribution : uint8_t {
  kNormal,   // N(0, 1) times the case's magnitude
  kUniform,  // U(low, high)
  kIndex,    // integers in [0, high dimension)
};

struct TensorSpec {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::string> shape;  // dimension names or integers
  // Inputs only:
  Distribution distribution = Distribution::kNormal;
  double low = 0, high = 1;    // kUniform
  std::string index_bound;     // kIndex: the dimension (name or integer) that bounds it, exclusive
  bool scaled = true;          // kNormal: multiplied by the case's magnitude
};

using Shape = std::map<std::string, int64_t>;  // dimension → size

struct Task {
  std::string name;      // unique, [a-z0-9_]+
  std::string language;  // "cpp"
  std::string family;    // elementwise, reduction, …
  std::string split;     // "train" or "heldout"
  std::string reference;  // PyTorch source of one function `reference(...)`, TorchScript subset; inputs in order → output(s)
  std::vector<std::string> dims;  // dimension names in the order the candidate receives them
  std::vector<TensorSpec> inputs, outputs;
  std::vector<Shape> check_shapes;  // small, odd, unequal; never shown to the policy
  Shape timed_shape;
  std::vector<double> magnitudes;  // of normal inputs, one check each: {1, …}
  double tolerance = 0;            // relative floor, in units of the output's scale
  double min_bytes = 0;            // 0: inputs + outputs at the timed shape
  double min_flops = 0;
  double max_speedup = 0;          // a faster candidate is SUSPECT

  std::string signature() const;  // the C++ declaration a candidate defines
  std::string prompt() const;     // what the policy is asked, plain text
  std::string digest() const;     // of everything that decides a verdict
};

// One YAML file or every *.yaml below a folder, in name order.
// Errors: ConfigError naming file, line, task, field, value and what is allowed; all problems of all files at once.
std::vector<Task> load_tasks(const std::filesystem::path& path);

// Tasks from YAML text; `origin` is named in errors.
std::vector<Task> parse_tasks(const std::string& yaml, const std::string& origin);

// The task of that name. Errors: ConfigError with the nearest known name.
const Task& find_task(const std::vector<Task>& tasks, const std::string& name);

// The sizes of a tensor at a shape. Checked at load: every dimension is defined.
std::vector<int64_t> tensor_sizes(const TensorSpec& tensor, const Shape& shape);
int64_t tensor_bytes(const TensorSpec& tensor, const Shape& shape);

}  // namespace temper
