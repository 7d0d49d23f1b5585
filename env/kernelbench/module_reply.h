#pragma once
// Reads what the processes of modules say. A candidate's process is a stranger by the time it answers: nothing is taken of its
// words that has not been checked, and its words never decide whether a result is right or how long it took.
//
// All functions throw ConfigError naming the field that is wrong.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "env/verdict/verdict.h"

namespace temper::env {

// What a tensor is, without its elements. A value that is no tensor has no type.
struct ModuleTensor {
  std::vector<int64_t> sizes, strides;  // strides in elements; empty where they are not told
  std::string type;                     // "f32", "bf16", "i64", …
};

// Bytes of a densely laid tensor.
int64_t module_bytes(const ModuleTensor& tensor);
// "f32 [3, 17]".
std::string tensor_text(const ModuleTensor& tensor);
// Whether each element has a place of its own in the order of its indices, or in that of `reference`'s strides.
bool laid_as(const ModuleTensor& tensor, const ModuleTensor& reference);

// The list of tensors under that key.
std::vector<ModuleTensor> tensors_in(const nlohmann::json& json, const char* key);

// "ok", "failed", "armed", …
std::string status_in(const nlohmann::json& json);

// Why a candidate failed, in its process's words.
struct ModuleFailure {
  std::string stage;      // "import", "construct", "weights", "forward", …
  std::string error;      // "NameError"
  std::string message;    // one line, bounded, scrubbed
  std::string traceback;  // lines, bounded, scrubbed
  bool compiler = false;  // a kernel does not compile
};
ModuleFailure failure_in(const nlohmann::json& json);

// The failure as a verdict's: which kind it is depends on stage and error, and the process may name a kind and a reason itself,
// of those that only speak against it.
Finding finding_of(const nlohmann::json& json, const ModuleFailure& failure);

// Times in milliseconds, each finite and not negative; at most `most` of them.
std::vector<double> times_in(const nlohmann::json& json, const char* key, int64_t most);

// What the reference says of a problem.
struct ModuleProblemFacts {
  std::vector<ModuleTensor> inputs;            // tensors alone
  std::vector<ModuleTensor> outputs;           // with strides
  int64_t exchange_bytes = 0, generation = 0;  // the memory through which calls pass, and which one it is
  ProblemNotes notes;
};
ModuleProblemFacts facts_in(const nlohmann::json& json);

// What the reference found in a snapshot.
struct ModuleComparison {
  bool right = false;
  std::string reason;                                  // "tolerance", "nan", …
  std::string message;                                 // scrubbed
  std::vector<double> max_difference, avg_difference;  // of each output
};
ModuleComparison comparison_in(const nlohmann::json& json);

// The kernels of one call by the process's own word, longest first, with the share of device time in those that the candidate
// wrote. Nothing where no kernel ran.
struct ModuleProfile {
  std::vector<KernelTime> kernels;
  double device_us = 0, own_share = 0;
};
std::optional<ModuleProfile> profile_in(const nlohmann::json& json);

}  // namespace temper::env
