#pragma once
// What is done with a module's source in boxes without a GPU. It is read for what it imports. What it builds with
// torch.utils.cpp_extension is compiled: the source is imported there to see what that is, and where it runs later, it finds the
// libraries ready.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "env/kernelbench/module_candidate.h"
#include "env/kernelbench/module_process.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

// Reads a source for what it imports and may not. Nothing of the source runs.
class ModuleGate {
 public:
  explicit ModuleGate(ModuleBoxOptions options);

  // Why it is refused, in the words that it would get where it runs. Nothing where the source alone does not show it. Errors:
  // WorldError if no box can be made.
  Found refusal(const std::string& source);
  // Starts the next box in the background, once one was needed.
  void prepare();

 private:
  std::unique_ptr<ModuleProcess> start() const;

  ModuleBoxOptions options_;
  std::unique_ptr<ModuleProcess> next_;
  bool needed_ = false;
};

struct ModuleBuilt {
  Found failure;
  std::vector<ModuleExtension> extensions;
  double ms = 0;
};

class ModuleBuilder {
 public:
  // `wall` is for importing and compiling one source. Errors: none yet.
  ModuleBuilder(ModuleBoxOptions options, std::chrono::nanoseconds wall);

  // Sources that build nothing take no time. `architecture` is what nvcc compiles for: "90a". Errors: WorldError if no box can
  // be made, or if this machine lacks what the source's extensions take.
  ModuleBuilt build(const Task& task, const std::string& source, const std::string& architecture);
  // Starts the next box in the background, once there was a source that needed one.
  void prepare();

 private:
  std::unique_ptr<ModuleProcess> start() const;

  ModuleBoxOptions options_;
  std::chrono::nanoseconds wall_;
  std::unique_ptr<ModuleProcess> next_;
  bool needed_ = false;
};

// The libraries that an answer announces, each of which follows as a frame. Errors: ConfigError.
std::vector<std::string> extension_keys(const nlohmann::json& json);

}  // namespace temper::env
