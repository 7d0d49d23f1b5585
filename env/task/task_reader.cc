#include "env/task/task_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/input/printable.h"
#include "env/task/limits.h"
#include "env/task/size_expression.h"

namespace temper::env {
namespace {

constexpr size_t kMostProblemBytes = 400, kMaxRank = 16;
constexpr int64_t kMaxTensorBytes = int64_t{256} << 20;

const std::vector<std::string> kTaskKeys{"name",       "language",  "family", "split", "reference",
                                         "inputs",     "outputs",   "dims",   "check", "timed",
                                         "magnitudes", "tolerance", "bytes",  "flops", "max_speedup"};
const std::vector<std::string> kInputKeys{"shape",   "type",     "normal", "scaled",    "scale",
                                          "uniform", "distinct", "below",  "nonfinite", "plain"};
const std::vector<std::string> kOutputKeys{"shape", "type"};
const std::map<std::string, ElementType> kTypes{{"f32", ElementType::kF32},
                                                {"i32", ElementType::kI32},
                                                {"bf16", ElementType::kBF16},
                                                {"f16", ElementType::kF16}};

bool is_identifier(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); });
}

bool is_count(const std::string& text) {
  return !text.empty() && text.size() <= 10 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }) &&
         std::stoll(text) > 0;
}

bool is_task_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_';
  });
}

std::string text_of(const YAML::Node& node) { return printable(yaml_text(node)); }

double element_count(const TensorSpec& tensor, const Shape& shape) {
  double elements = 1;
  for (const int64_t size : tensor_sizes(tensor, shape)) elements *= double(size);
  return elements;
}

bool is_size(const YAML::Node& node) {
  return node.IsScalar() && (is_count(node.Scalar()) || is_identifier(node.Scalar()));
}

}  // namespace

TaskReader::TaskReader(YAML::Node task, YAML::Node defaults, std::string origin,
                       std::vector<std::string>& problems)
    : node_(std::move(task)),
      defaults_(std::move(defaults)),
      origin_(std::move(origin)),
      problems_(problems) {}

Task TaskReader::read() {
  if (!node_.IsMap()) {
    problem(node_, "task", "expected a map");
    return {};
  }
  task_.name = value<std::string>(find("name"), "name", "", "a name");
  check_task_keys();
  read_scalars();
  read_tensors();
  read_reference();
  read_dims();
  read_sizes();
  read_minimums();
  check_names();
  check_limits();
  return task_;
}

// The first of those allowed where there is none or another one.
std::string TaskReader::one_of(const char* key, const std::vector<std::string>& allowed,
                               const char* expected) {
  std::string word = value<std::string>(find(key), key, allowed.front(), expected);
  if (std::ranges::count(allowed, word) != 0) return word;
  problem(find(key), key,
          fmt::format("'{}' is not allowed; allowed: {}", printable(word), fmt::join(allowed, ", ")));
  return allowed.front();
}

void TaskReader::read_scalars() {
  if (!is_task_name(task_.name)) {
    problem(find("name"), "name", fmt::format("'{}' is not allowed; [a-z0-9_]+", printable(task_.name)));
  }
  task_.language = one_of("language", task_file_languages(), "a word");
  task_.family = value<std::string>(find("family"), "family", "other", "a word");
  task_.split = one_of("split", {Split::kTrain, Split::kHeldOut}, "train or heldout");
  task_.tolerance = value<double>(find("tolerance"), "tolerance", 1e-5, "a number in (0, 0.1]");
  if (!(task_.tolerance > 0 && task_.tolerance <= 0.1)) {
    problem(find("tolerance"), "tolerance", fmt::format("{} is not allowed; (0, 0.1]", task_.tolerance));
  }
  task_.max_speedup = value<double>(find("max_speedup"), "max_speedup", 50, "a number above 1");
  if (!(task_.max_speedup > 1)) {
    problem(find("max_speedup"), "max_speedup", fmt::format("{} is not allowed; above 1", task_.max_speedup));
  }
  task_.magnitudes = value<std::vector<double>>(find("magnitudes"), "magnitudes", {1}, "a list of numbers");
  const bool positive = std::all_of(task_.magnitudes.begin(), task_.magnitudes.end(),
                                    [](double m) { return m > 0 && std::isfinite(m); });
  if (task_.magnitudes.empty() || !positive)
    problem(find("magnitudes"), "magnitudes", "expected numbers above 0");
}

void TaskReader::read_tensors() {
  for (const auto& [key, tensors] :
       {std::pair{"inputs", &task_.inputs}, std::pair{"outputs", &task_.outputs}}) {
    const YAML::Node node = find(key);
    if (!node || !node.IsMap() || node.size() == 0) {
      problem(node, key, "expected a map from names to shapes, like {x: [n, m]}");
      continue;
    }
    if (node.size() > kMaxTensors) {
      problem(node, key, fmt::format("{} tensors; at most {}", node.size(), kMaxTensors));
      continue;
    }
    for (const auto& entry : node) {
      const bool input = tensors == &task_.inputs;
      tensors->push_back(read_tensor(entry.first.Scalar(), entry.second, input));
    }
  }
}

TensorSpec TaskReader::read_tensor(const std::string& name, const YAML::Node& node, bool input) {
  const std::string field = fmt::format("{}.{}", input ? "inputs" : "outputs", name);
  TensorSpec tensor;
  tensor.name = name;
  const YAML::Node shape = node.IsMap() ? node["shape"] : node;
  if (!shape || !shape.IsSequence() || shape.size() == 0) {
    problem(node, field, "expected a shape like [n, m]");
    return tensor;
  }
  if (shape.size() > kMaxRank) {
    problem(node, field, fmt::format("{} sizes; at most {}", shape.size(), kMaxRank));
    return tensor;
  }
  for (const auto& size : shape) {
    if (is_size(size)) {
      tensor.shape.push_back(size.Scalar());
    } else {
      problem(shape, field,
              fmt::format("'{}' is neither the name of a dimension nor a size above 0", text_of(size)));
    }
  }
  if (node.IsMap()) read_tensor_options(tensor, node, field, input);
  return tensor;
}

void TaskReader::read_tensor_options(TensorSpec& tensor, const YAML::Node& node, const std::string& field,
                                     bool input) {
  check_keys(node, input ? kInputKeys : kOutputKeys, field + ".");
  const bool short_floats = find_language(task_.language).short_floats;
  const char* const allowed = short_floats ? "f32, i32, bf16, f16" : "f32, i32";
  const auto type = value<std::string>(node["type"], field + ".type", "f32", allowed);
  const auto known = kTypes.find(type);
  if (known != kTypes.end()) tensor.type = known->second;
  if (known == kTypes.end() || (!short_floats && element_size(tensor.type) == 2)) {
    problem(node, field + ".type", fmt::format("'{}' is not allowed; allowed: {}", printable(type), allowed));
  }
  if (input) read_distribution(tensor, node, field);
}

void TaskReader::read_distribution(TensorSpec& tensor, const YAML::Node& node, const std::string& field) {
  const bool integer = !is_float(tensor.type);
  if (integer != bool(node["below"])) problem(node, field, "an i32 input, and only that, needs `below`");
  if (integer && node["below"]) {
    tensor.distribution = Distribution::kIndex;
    tensor.index_bound = value<std::string>(node["below"], field + ".below", "", "a dimension or a number");
    if (!is_size(node["below"])) problem(node, field + ".below", "expected a dimension or a number above 0");
  }
  if (node["uniform"]) read_range(tensor, node["uniform"], field + ".uniform", Distribution::kUniform);
  if (node["distinct"]) read_range(tensor, node["distinct"], field + ".distinct", Distribution::kDistinct);
  if (node["uniform"] && node["distinct"]) problem(node, field, "`uniform` or `distinct`, not both");
  const bool normal = tensor.distribution == Distribution::kNormal;
  for (const char* key : {"normal", "scaled", "scale", "nonfinite"}) {
    if (node[key] && !normal) problem(node, field + "." + key, "only for normal inputs");
  }
  if (!value<bool>(node["normal"], field + ".normal", true, "true"))
    problem(node, field + ".normal", "allowed: true");
  tensor.scale = value<std::string>(node["scale"], field + ".scale", "", "a number or an expression");
  tensor.scaled = value<bool>(node["scaled"], field + ".scaled", true, "true or false");
  tensor.nonfinite = value<bool>(node["nonfinite"], field + ".nonfinite", false, "true or false");
  tensor.plain = value<bool>(node["plain"], field + ".plain", false, "true or false");
}

void TaskReader::read_range(TensorSpec& tensor, const YAML::Node& node, const std::string& field,
                            Distribution distribution) {
  const auto bounds = value<std::vector<double>>(node, field, {0, 1}, "[low, high]");
  const bool fits = is_float(tensor.type) && bounds.size() == 2 && bounds[0] < bounds[1] &&
                    std::isfinite(float(bounds[1] - bounds[0]));
  if (!fits)
    return problem(node, field,
                   fmt::format("{} is not allowed; [low, high] of a float input, low < high", text_of(node)));
  if (distribution == Distribution::kDistinct && tensor.type != ElementType::kF32)
    problem(node, field, "only for f32 inputs");
  tensor.distribution = distribution;
  tensor.low = bounds[0];
  tensor.high = bounds[1];
}

void TaskReader::read_reference() {
  task_.reference = value<std::string>(find("reference"), "reference", "", "PyTorch source");
  if (task_.reference.empty()) {
    problem(find("reference"), "reference", "missing; an expression or `def reference(…): …`");
    return;
  }
  if (task_.reference.starts_with("def reference")) {
    if (!task_.reference.ends_with('\n')) task_.reference += '\n';
    return;
  }
  if (task_.reference.find("return") != std::string::npos ||
      task_.reference.find("def ") != std::string::npos) {
    problem(find("reference"), "reference",
            "expected an expression, or source that begins with `def reference(`");
    return;
  }
  while (task_.reference.ends_with('\n')) task_.reference.pop_back();
  std::vector<std::string> names;
  for (const auto& input : task_.inputs) names.push_back(input.name);
  task_.reference =
      fmt::format("def reference({}):\n    return {}\n", fmt::join(names, ", "), task_.reference);
}

std::vector<std::string> TaskReader::used_dims() const {
  std::vector<std::string> used;
  const auto use = [&](const std::string& size) {
    if (is_identifier(size) && std::find(used.begin(), used.end(), size) == used.end()) used.push_back(size);
  };
  for (const auto* tensors : {&task_.inputs, &task_.outputs}) {
    for (const auto& tensor : *tensors) {
      for (const auto& size : tensor.shape) use(size);
      use(tensor.index_bound);
    }
  }
  return used;
}

void TaskReader::read_dims() {
  const auto used = used_dims();
  const YAML::Node node = find("dims");
  const bool too_many = node && node.size() > kMaxDims;
  if (too_many) problem(node, "dims", fmt::format("{} dimensions; at most {}", node.size(), kMaxDims));
  task_.dims =
      too_many ? used : value<std::vector<std::string>>(node, "dims", used, "a list of dimension names");
  for (const auto& dim : used) {
    if (std::find(task_.dims.begin(), task_.dims.end(), dim) == task_.dims.end()) {
      problem(node, "dims",
              fmt::format("undefined dimension '{}'; dims lists: {}", printable(dim),
                          fmt::join(task_.dims, ", ")));
      task_.dims.push_back(dim);
    }
  }
}

Shape TaskReader::read_shape(const YAML::Node& node, const std::string& field) {
  Shape shape;
  if (!node || !node.IsMap()) {
    problem(node, field, fmt::format("expected the size of each dimension: {}", fmt::join(task_.dims, ", ")));
  } else {
    for (const auto& entry : node) {
      const auto dim = entry.first.Scalar();
      if (std::find(task_.dims.begin(), task_.dims.end(), dim) == task_.dims.end()) {
        problem(node, field,
                fmt::format("unknown dimension '{}'; dimensions: {}", printable(dim),
                            fmt::join(task_.dims, ", ")));
      } else if (!entry.second.IsScalar() || !is_count(entry.second.Scalar())) {
        problem(node, field + "." + dim,
                fmt::format("'{}' is not allowed; an integer above 0", text_of(entry.second)));
        shape[dim] = 1;
      } else if (std::stoll(entry.second.Scalar()) > kMaxTensorBytes) {
        problem(node, field + "." + dim,
                fmt::format("{} is not allowed; at most {}", entry.second.Scalar(), kMaxTensorBytes));
        shape[dim] = 1;
      } else {
        shape[dim] = std::stoll(entry.second.Scalar());
      }
    }
  }
  for (const auto& dim : task_.dims) {
    if (shape.contains(dim)) continue;
    if (node && node.IsMap()) problem(node, field, fmt::format("undefined dimension '{}'", dim));
    shape[dim] = 1;
  }
  return shape;
}

// One map, or a list of maps.
void TaskReader::read_timed() {
  const YAML::Node timed = find("timed");
  if (!timed || !timed.IsSequence()) {
    task_.timed_shape = read_shape(timed, "timed");
    return;
  }
  if (timed.size() == 0 || timed.size() > kMaxTimedShapes) {
    problem(timed, "timed",
            fmt::format("{} shapes are not allowed; one map of sizes, or a list of 1 to {} of them",
                        timed.size(), kMaxTimedShapes));
    for (const auto& dim : task_.dims) task_.timed_shape[dim] = 1;
    return;
  }
  task_.timed_shape = read_shape(timed[0], "timed[0]");
  for (size_t i = 1; i < timed.size(); ++i) {
    Shape sizes = read_shape(timed[i], fmt::format("timed[{}]", i));
    for (size_t before = 0; before < i; ++before)
      if (task_.timed(before).sizes == sizes)
        problem(timed[i], fmt::format("timed[{}]", i),
                fmt::format("{} is also timed[{}]; each shape is allowed once", text_of(timed[i]), before));
    task_.further_timed.push_back({.sizes = std::move(sizes)});
  }
}

void TaskReader::read_sizes() {
  read_timed();
  const YAML::Node check = find("check");
  if (!check || !check.IsSequence() || check.size() == 0) {
    problem(check, "check", "expected a list of sizes, like [{n: 3, m: 17}]");
    return;
  }
  for (size_t i = 0; i < check.size(); ++i) {
    task_.check_shapes.push_back(read_shape(check[i], fmt::format("check[{}]", i)));
  }
}

double TaskReader::read_minimum(const char* key, size_t timed, double fallback) {
  const YAML::Node node = find(key);
  const auto expression = value<std::string>(node, key, "", "a number or a product of dimensions");
  if (expression.empty()) return fallback;
  try {
    const double minimum = evaluate_size(expression, task_.timed(timed).sizes);
    if (minimum >= 0 && std::isfinite(minimum)) return minimum;
    problem(node, key,
            fmt::format("'{}' is {}{}; 0 or more is allowed", expression, minimum,
                        timed == 0 ? "" : fmt::format(" at timed[{}]", timed)));
  } catch (const ConfigError& error) {
    problem(node, key, error.what());
  }
  return fallback;
}

// What is wrong at one shape is not told again of the next.
void TaskReader::read_minimums() {
  const size_t problems = problems_.size();
  for (size_t i = 0; i < task_.timed_count() && problems_.size() == problems; ++i) {
    const Shape sizes = task_.timed(i).sizes;
    double moved = 0;
    for (const auto* tensors : {&task_.inputs, &task_.outputs})
      for (const auto& tensor : *tensors)
        moved += element_count(tensor, sizes) * double(element_size(tensor.type));
    const double bytes = read_minimum("bytes", i, moved), flops = read_minimum("flops", i, 0);
    (i == 0 ? task_.min_bytes : task_.further_timed[i - 1].min_bytes) = bytes;
    (i == 0 ? task_.min_flops : task_.further_timed[i - 1].min_flops) = flops;
  }
}

void TaskReader::check_keys(const YAML::Node& node, const std::vector<std::string>& known,
                            const std::string& field) {
  check_yaml_keys(node, known, field, to_problems());
}

void TaskReader::check_task_keys() { check_keys(node_, kTaskKeys, ""); }

void TaskReader::check_names() {
  std::set<std::string> seen;
  const auto check = [&](const std::string& name, const char* field) {
    if (!is_identifier(name))
      problem(find(field), field, fmt::format("'{}' is not a C name", printable(name)));
    if (!seen.insert(name).second)
      problem(find(field), field, fmt::format("'{}' is used twice", printable(name)));
    if (std::ranges::count(find_language(task_.language).reserved_words, name) > 0)
      problem(find(field), field, fmt::format("'{}' is a word of {}", name, task_.language));
  };
  for (const auto& tensor : task_.inputs) check(tensor.name, "inputs");
  for (const auto& tensor : task_.outputs) check(tensor.name, "outputs");
  for (const auto& dim : task_.dims) check(dim, "dims");
}

void TaskReader::check_limits() {
  const size_t tensors = task_.inputs.size() + task_.outputs.size();
  if (tensors > kMaxTensors)
    problem(node_, "inputs", fmt::format("{} tensors; at most {}", tensors, kMaxTensors));
  if (task_.dims.size() > kMaxDims) {
    problem(node_, "dims", fmt::format("{} dimensions; at most {}", task_.dims.size(), kMaxDims));
  }
  const std::vector<Shape> shapes = all_shapes(task_);
  if (shapes.size() > kMaxShapes)
    problem(find("check"), "check",
            fmt::format("{} shapes, with those of timed; at most {}", shapes.size(), kMaxShapes));
  for (const auto* specs : {&task_.inputs, &task_.outputs})
    for (const auto& tensor : *specs)
      for (const auto& shape : shapes) check_tensor(tensor, shape);
}

void TaskReader::check_tensor(const TensorSpec& tensor, const Shape& shape) {
  const double elements = element_count(tensor, shape);
  if (elements * 4 > double(kMaxTensorBytes))
    problem(node_, tensor.name, fmt::format("{} elements; at most {}", elements, kMaxTensorBytes / 4));
  if (tensor.distribution == Distribution::kDistinct) {
    const double farthest = std::max(std::abs(tensor.low), std::abs(tensor.high));
    const double most = (tensor.high - tensor.low) / (2 * farthest) * double(kMaxDistinct);
    if (elements > most)
      problem(node_, tensor.name,
              fmt::format("{} elements; f32 tells at most {:.0f} apart between {} and {}", elements, most,
                          tensor.low, tensor.high));
  }
  if (tensor.scale.empty()) return;
  try {
    const double scale = evaluate_size(tensor.scale, shape);
    if (!(scale > 0 && std::isfinite(scale)))
      problem(node_, tensor.name, fmt::format("scale '{}' is {}; above 0 is allowed", tensor.scale, scale));
  } catch (const ConfigError& error) {
    problem(node_, tensor.name, fmt::format("scale {}", error.what()));
  }
}

template <class T>
T TaskReader::value(const YAML::Node& node, const std::string& field, T fallback, const char* allowed) {
  return yaml_value<T>(node, field, fallback, allowed, to_problems());
}

YamlProblem TaskReader::to_problems() {
  return [this](const YAML::Node& at, const std::string& field, const std::string& text) {
    problem(at, field, text);
  };
}

YAML::Node TaskReader::find(const char* key) const {
  const YAML::Node& node = node_;
  const YAML::Node& defaults = defaults_;
  if (node[key]) return node[key];
  if (defaults.IsMap() && defaults[key]) return defaults[key];
  return YAML::Node(YAML::NodeType::Undefined);
}

void TaskReader::problem(const YAML::Node& node, const std::string& field, const std::string& text) {
  const int line = (node ? node : node_).Mark().line + 1;
  problems_.push_back(fmt::format("{}:{}: task {}, {}: {}", origin_, line,
                                  task_.name.empty() ? "?" : printable(task_.name), printable(field),
                                  printable(text, kMostProblemBytes)));
}

}  // namespace temper::env
