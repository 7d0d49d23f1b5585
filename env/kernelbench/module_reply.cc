#include "env/kernelbench/module_reply.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/input/json.h"
#include "env/verdict/details.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostTensors = 4096, kMostRank = 16, kMostReasonBytes = 32;
constexpr int64_t kMostElements = int64_t(1) << 44;
constexpr size_t kMostTracebackBytes = 4 << 10, kMostMessageBytes = 300;

struct TypeBytes {
  const char* name;
  int64_t bytes;
};
constexpr TypeBytes kTypes[] = {{"f64", 8}, {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"i64", 8},
                                {"i32", 4}, {"i16", 2}, {"i8", 1},  {"u8", 1},   {"bool", 1}};

int64_t bytes_of_type(const std::string& type) {
  const auto* const known = std::ranges::find(kTypes, type, &TypeBytes::name);
  if (known == std::end(kTypes)) throw ConfigError("a tensor of the type {}", shown(type));
  return known->bytes;
}

std::string text_at(const Json& json, const char* key, const std::string& otherwise = {}) {
  const auto found = json.find(key);
  if (found == json.end()) return otherwise;
  if (!found->is_string()) throw ConfigError("{} is {}", key, shown(*found));
  return found->get<std::string>();
}

std::vector<int64_t> numbers_at(const Json& json, const char* key, int64_t least) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  if (!found->is_array() || found->size() > kMostRank) throw ConfigError("{} is {}", key, shown(*found));
  std::vector<int64_t> numbers;
  for (const Json& one : *found) {
    const auto number = whole_number(one);
    if (!number || *number < least || *number > kMostElements)
      throw ConfigError("{} has {}", key, shown(one));
    numbers.push_back(*number);
  }
  return numbers;
}

int64_t elements_of(const std::vector<int64_t>& sizes) {
  int64_t elements = 1;
  for (const int64_t size : sizes)
    if (size == 0) return 0;
  for (const int64_t size : sizes) {
    if (elements > kMostElements / size)
      throw ConfigError("a tensor of more than {} elements", kMostElements);
    elements *= size;
  }
  return elements;
}

ModuleTensor tensor_of(const Json& json) {
  if (!json.is_object()) throw ConfigError("a tensor is {}", shown(json));
  ModuleTensor tensor{numbers_at(json, "sizes", 0), numbers_at(json, "strides", 0), text_at(json, "type")};
  if (tensor.type.empty()) return tensor;
  bytes_of_type(tensor.type);
  elements_of(tensor.sizes);
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.sizes.size())
    throw ConfigError("{} sizes and {} strides", tensor.sizes.size(), tensor.strides.size());
  return tensor;
}

double number_of(const Json& json) {
  // NaN and infinity are no numbers of JSON, and come as texts or as null.
  if (json.is_number()) return json.get<double>();
  if (json.is_null()) return std::nan("");
  const std::string word = json.is_string() ? json.get<std::string>() : "";
  if (word == "nan") return std::nan("");
  if (word == "inf" || word == "-inf") return word[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  throw ConfigError("a number is {}", shown(json));
}

std::vector<double> doubles_at(const Json& json, const char* key, size_t most) {
  std::vector<double> numbers;
  const auto found = json.find(key);
  if (found == json.end()) return numbers;
  if (!found->is_array() || found->size() > most) throw ConfigError("{} is {}", key, shown(*found));
  for (const Json& one : *found) numbers.push_back(number_of(one));
  return numbers;
}

std::vector<std::string> words_at(const Json& json, const char* key, size_t most_bytes = 64) {
  constexpr size_t kMost = 64;
  std::vector<std::string> words;
  const auto found = json.find(key);
  if (found == json.end()) return words;
  if (!found->is_array() || found->size() > kMost) throw ConfigError("{} is {}", key, shown(*found));
  for (const Json& one : *found)
    words.push_back(scrub(one.is_string() ? one.get<std::string>() : one.dump(), most_bytes));
  return words;
}

int64_t count_at(const Json& json, const char* key) {
  const auto count = json.contains(key) ? whole_number(json.at(key)) : std::nullopt;
  if (!count || *count < 0) throw ConfigError("{} is no number", key);
  return *count;
}

std::string scrubbed(const std::string& text, size_t most) {
  std::string clean;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    clean += scrub(std::string_view(text).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return cut_in_the_middle(clean, most);
}

// The kinds that a candidate's own process may give it.
constexpr VerdictKind kOwnKinds[] = {VerdictKind::kFailParse, VerdictKind::kFailCompile,
                                     VerdictKind::kFailRuntime, VerdictKind::kFailIncorrect,
                                     VerdictKind::kRejectPolicy};

constexpr const char* kKernelName = "kernel_name";  // a kernel is called as another's are

bool is_syntax(const ModuleFailure& failure) {
  return failure.error == "SyntaxError" || failure.error == "IndentationError" || failure.error == "TabError";
}

bool lacks_entry(const ModuleFailure& failure) {
  return failure.error == "NameError" && failure.message.starts_with("the candidate has no class");
}

// The reason where the process names none.
const char* reason_of(VerdictKind kind, const ModuleFailure& failure) {
  if (kind == VerdictKind::kFailParse) return is_syntax(failure) ? "syntax" : "no_entry_point";
  if (kind == VerdictKind::kFailIncorrect) return "weights";
  if (kind == VerdictKind::kFailCompile) return "compile_error";
  if (kind == VerdictKind::kRejectPolicy) return kKernelName;
  return "exception";
}

VerdictKind kind_of(const ModuleFailure& failure) {
  if (failure.stage == "import" && (is_syntax(failure) || lacks_entry(failure)))
    return VerdictKind::kFailParse;
  if (failure.compiler) return VerdictKind::kFailCompile;
  if (failure.stage == "profile" && failure.error == kKernelName) return VerdictKind::kRejectPolicy;
  if (failure.stage == "weights") return VerdictKind::kFailIncorrect;
  return VerdictKind::kFailRuntime;
}

}  // namespace

int64_t module_bytes(const ModuleTensor& tensor) {
  return tensor.type.empty() ? 0 : elements_of(tensor.sizes) * bytes_of_type(tensor.type);
}

std::string tensor_text(const ModuleTensor& tensor) {
  return fmt::format("{} [{}]", tensor.type, fmt::join(tensor.sizes, ", "));
}

bool laid_as(const ModuleTensor& tensor, const ModuleTensor& reference) {
  if (tensor.strides.empty() || elements_of(tensor.sizes) <= 1) return true;
  int64_t step = 1;
  bool dense = true;
  for (size_t axis = tensor.sizes.size(); axis-- > 0;) {
    if (tensor.sizes[axis] > 1) dense = dense && tensor.strides[axis] == step;
    step *= tensor.sizes[axis];
  }
  bool same = reference.strides.size() == tensor.strides.size();
  for (size_t axis = 0; same && axis < tensor.sizes.size(); ++axis)
    same = tensor.sizes[axis] <= 1 || tensor.strides[axis] == reference.strides[axis];
  return dense || same;
}

std::vector<ModuleTensor> tensors_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array() || found->size() > kMostTensors)
    throw ConfigError("{} is no list of tensors", key);
  std::vector<ModuleTensor> tensors;
  for (const Json& one : *found) tensors.push_back(tensor_of(one));
  return tensors;
}

std::string status_in(const Json& json) { return text_at(json, "status"); }

ModuleFailure failure_in(const Json& json) {
  return {.stage = scrub(text_at(json, "stage"), kMostReasonBytes),
          .error = scrub(text_at(json, "error"), 2 * kMostReasonBytes),
          .message = scrub(text_at(json, "message"), kMostMessageBytes),
          .traceback = scrubbed(text_at(json, "traceback"), kMostTracebackBytes),
          .compiler = json.contains("compiler") && json.at("compiler") == true};
}

Finding finding_of(const Json& json, const ModuleFailure& failure) {
  const std::string told = text_at(json, "kind"), reason = text_at(json, "reason");
  const auto* const own =
      std::ranges::find(kOwnKinds, told, [](VerdictKind kind) { return to_string(kind); });
  Finding finding{own != std::end(kOwnKinds) ? *own : kind_of(failure), reason};
  if (!is_reason_code(reason)) finding.reason = reason_of(finding.kind, failure);
  const bool named =
      failure.error.empty() || failure.error == kKernelName || failure.message.starts_with(failure.error);
  finding.detail = named ? failure.message : failure.error + ": " + failure.message;
  if (!failure.stage.empty() && finding.kind == VerdictKind::kFailRuntime)
    finding.detail = "in " + failure.stage + ": " + finding.detail;
  finding.details = failure.traceback;
  return finding;
}

std::vector<double> times_in(const Json& json, const char* key, int64_t most) {
  std::vector<double> times = doubles_at(json, key, size_t(most));
  for (const double time : times)
    if (!std::isfinite(time) || time < 0) throw ConfigError("{} has {}", key, time);
  return times;
}

ModuleProblemFacts facts_in(const Json& json) {
  ModuleProblemFacts facts;
  for (ModuleTensor& tensor : tensors_in(json, "inputs"))
    if (!tensor.type.empty()) facts.inputs.push_back(std::move(tensor));
  facts.outputs = tensors_in(json, "outputs");
  facts.exchange_bytes = count_at(json, "exchange_bytes");
  facts.generation = count_at(json, "generation");
  facts.notes = {.weak = words_at(json, "weak"),
                 .weak_comparable = words_at(json, "weak_comparable"),
                 .promises = words_at(json, "promises", kMostNoteBytes)};
  return facts;
}

ModuleComparison comparison_in(const Json& json) {
  ModuleComparison comparison;
  const auto right = json.find("right");
  if (right == json.end() || !right->is_boolean()) throw ConfigError("right is neither true nor false");
  comparison.right = right->get<bool>();
  const std::string reason = text_at(json, "reason");
  comparison.reason = is_reason_code(reason) ? reason : "tolerance";
  comparison.message = scrub(text_at(json, "message"), kMostMessageBytes);
  comparison.max_difference = doubles_at(json, "max_difference", kMostTensors);
  comparison.avg_difference = doubles_at(json, "avg_difference", kMostTensors);
  return comparison;
}

std::optional<ModuleProfile> profile_in(const Json& json) {
  constexpr size_t kMostKernels = 256, kMostParts = 8, kMostNameBytes = 64;
  const auto found = json.find("kernels");
  if (found == json.end() || !found->is_array() || found->size() > kMostKernels)
    throw ConfigError("kernels is no list of at most {}", kMostKernels);
  ModuleProfile profile;
  double own_us = 0;
  for (const Json& one : *found) {
    if (!one.is_object()) throw ConfigError("a kernel is {}", shown(one));
    const double us = one.contains("us") ? number_of(one.at("us")) : 0;
    if (!std::isfinite(us) || us < 0) throw ConfigError("a kernel takes {} us", us);
    profile.kernels.push_back({scrub(text_at(one, "name"), kMostNameBytes), count_at(one, "launches"), us});
    profile.device_us += us;
    if (text_at(one, "origin") == "candidate") own_us += us;
  }
  if (profile.device_us <= 0) return std::nullopt;
  profile.own_share = own_us / profile.device_us;
  for (KernelTime& kernel : profile.kernels) kernel.share = kernel.us / profile.device_us;
  std::ranges::stable_sort(profile.kernels, std::greater(), &KernelTime::us);
  profile.kernels.resize(std::min(profile.kernels.size(), kMostParts));
  return profile;
}

}  // namespace temper::env
