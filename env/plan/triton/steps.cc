#include "env/plan/triton/steps.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

const Json& member(const Json& json, const char* key) {
  if (!json.is_object()) throw ConfigError("what should hold '{}' is no object", key);
  const auto found = json.find(key);
  if (found == json.end()) throw ConfigError("'{}' is missing", key);
  return *found;
}

template <class Integer>
Integer number(const Json& value, const char* name) {
  const auto whole = whole_number(value);
  using Limits = std::numeric_limits<Integer>;
  if (!whole || *whole < int64_t(Limits::min()) || *whole > int64_t(Limits::max()))
    throw ConfigError("{} is {}", name, shown(value));
  return Integer(*whole);
}

template <class Integer>
void read(const Json& json, const char* key, Integer& value) {
  value = number<Integer>(member(json, key), key);
}

void read(const Json& json, const char* key, bool& value) {
  const Json& given = member(json, key);
  if (!given.is_boolean()) throw ConfigError("{} is {}", key, shown(given));
  value = given.get<bool>();
}

void read(const Json& json, const char* key, std::string& value) {
  const Json& given = member(json, key);
  if (!given.is_string()) throw ConfigError("{} is {}", key, shown(given));
  value = given.get<std::string>();
}

const Json& list(const Json& json, const char* key, size_t most) {
  const Json& given = member(json, key);
  if (!given.is_array() || given.size() > most) throw ConfigError("{} is no list of at most {}", key, most);
  return given;
}

template <class Integer>
void read(const Json& json, const char* key, std::vector<Integer>& values, size_t most) {
  for (const Json& one : list(json, key, most)) values.push_back(number<Integer>(one, key));
}

void read(const Json& json, const char* key, Extent& extent) {
  std::vector<uint32_t> sizes;
  read(json, key, sizes, 3);
  if (sizes.size() != 3) throw ConfigError("{} has {} sizes", key, sizes.size());
  extent = {sizes[0], sizes[1], sizes[2]};
}

DevicePointer pointer(const Json& json) {
  DevicePointer result;
  std::string space;
  read(json, "space", space);
  if (space != "input" && space != "output" && space != "workspace")
    throw ConfigError("space is {}", shown(space));
  result.space = space == "input" ? Space::kInput : space == "output" ? Space::kOutput : Space::kWorkspace;
  read(json, "index", result.index);
  read(json, "offset", result.offset);
  return result;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw ConfigError("the arguments are no bytes in hexadecimal");
}

std::vector<uint8_t> bytes_of_hex(const std::string& text) {
  if (text.size() % 2 != 0 || text.size() > 2 * size_t(kMaxArgumentBytes))
    throw ConfigError("arguments of {} hexadecimal digits", text.size());
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(uint8_t(digit(text[i]) << 4 | digit(text[i + 1])));
  return bytes;
}

TensorMap tensor_map(const Json& json) {
  TensorMap map;
  read(json, "at", map.at);
  map.pointer = pointer(json);
  read(json, "element_type", map.element_type);
  read(json, "swizzle", map.swizzle);
  read(json, "fill", map.fill);
  read(json, "sizes", map.sizes, kMaxTensorRank);
  read(json, "strides", map.strides, kMaxTensorRank);
  read(json, "box", map.box, kMaxTensorRank);
  return map;
}

KernelLaunch launch(const Json& json) {
  KernelLaunch result;
  std::string arguments;
  read(json, "kernel", result.kernel);
  read(json, "grid", result.grid);
  read(json, "block", result.block);
  read(json, "cluster", result.cluster);
  read(json, "shared", result.shared_bytes);
  read(json, "cooperative", result.cooperative);
  read(json, "programmatic", result.programmatic);
  read(json, "arguments", arguments);
  result.arguments = bytes_of_hex(arguments);
  for (const Json& one : list(json, "relocations", kMaxRelocations))
    result.relocations.push_back({number<uint32_t>(member(one, "at"), "at"), pointer(one)});
  for (const Json& one : list(json, "tensor_maps", kMaxTensorMaps))
    result.tensor_maps.push_back(tensor_map(one));
  return result;
}

Memset memset_step(const Json& json) {
  Memset result{.to = pointer(json)};
  read(json, "value", result.value);
  read(json, "width", result.width);
  read(json, "count", result.count);
  return result;
}

Copy copy_step(const Json& json) {
  Copy result{.to = pointer(member(json, "to")), .from = pointer(member(json, "from"))};
  read(json, "bytes", result.bytes);
  return result;
}

Step step(const Json& json) {
  if (!json.is_object() || json.size() != 1) throw ConfigError("a step of no kind");
  const std::string kind = json.begin().key();
  if (kind == "launch") return launch(*json.begin());
  if (kind == "memset") return memset_step(*json.begin());
  if (kind == "copy") return copy_step(*json.begin());
  throw ConfigError("a step of the kind {}", shown(kind));
}

Alternative alternative(const Json& json) {
  Alternative result;
  read(json, "configuration", result.configuration);
  read(json, "text", result.text);
  result.text = scrub(result.text, kMaxAlternativeText);
  for (const Json& one : list(json, "steps", kMaxPlanSteps)) result.steps.push_back(step(one));
  return result;
}

Choice choice(const Json& json, size_t at) {
  Choice result{.at = uint32_t(at), .alternatives = {}};
  read(json, "slot", result.slot);
  for (const Json& one : list(json, "alternatives", kMaxAlternatives))
    result.alternatives.push_back(alternative(one));
  return result;
}

PlanKernel kernel(const Json& json) {
  PlanKernel result;
  read(json, "name", result.name);
  read(json, "cubin", result.cubin);
  read(json, "max_dynamic_shared", result.max_dynamic_shared);
  return result;
}

}  // namespace

LaunchPlan plan_from_json(const Json& json) {
  LaunchPlan plan;
  for (const Json& one : list(json, "kernels", kMaxPlanKernels)) plan.kernels.push_back(kernel(one));
  read(json, "workspaces", plan.workspaces, kMaxPlanWorkspaces);
  for (const Json& one : list(json, "steps", kMaxPlanSteps + kMaxChoices)) {
    if (one.is_object() && one.size() == 1 && one.contains("choose"))
      plan.choices.push_back(choice(*one.begin(), plan.steps.size()));
    else
      plan.steps.push_back(step(one));
  }
  return plan;
}

}  // namespace temper::env
