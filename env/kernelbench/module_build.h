#pragma once
// What is done with a module's source in boxes without a GPU. It is read for what it imports. It is imported to see what it builds with
// torch.utils.cpp_extension. That is compiled in other boxes, in which none of its Python runs, and where the module runs later, it
// finds the libraries ready.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "env/kernelbench/extensions/extension_compiler.h"
#include "env/kernelbench/module_candidate.h"
#include "env/kernelbench/module_process.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

// Boxes without a GPU in which a program deals with one source each.
class SourceBoxes {
 public:
  SourceBoxes(ModuleBoxOptions options, std::string program);

  // Errors: WorldError if no box can be made.
  std::unique_ptr<ModuleProcess> take();
  // Starts the next box in the background, once one was taken.
  void prepare();

 private:
  std::unique_ptr<ModuleProcess> start() const;

  ModuleBoxOptions options_;
  std::string program_;
  std::unique_ptr<ModuleProcess> next_;
  bool needed_ = false;
};

// Searches a source for imports that are not allowed. The source is only read: nothing in it is run.
class ModuleGate {
 public:
  explicit ModuleGate(ModuleBoxOptions options);

  // The refusal of such a source, with the message that running it would give. There is none where only running the source would
  // show such an import. Errors: WorldError if no box can be made.
  Found refusal(const std::string& source);
  void prepare() { boxes_.prepare(); }

 private:
  SourceBoxes boxes_;
};

struct ModuleBuilt {
  Found failure;
  std::vector<ModuleExtension> extensions;
  double ms = 0;
};

class ModuleBuilder {
 public:
  // `wall` is for importing and compiling one source. `folder`: where processes share what was compiled, or empty
  // (extension_compiler.h). Errors: WorldError.
  ModuleBuilder(const ModuleBoxOptions& options, std::chrono::nanoseconds wall,
                const std::filesystem::path& folder = {});

  // Sources that build nothing take no time. `architecture` is what nvcc compiles for: "90a". Errors: WorldError if no box can
  // be made, or if this machine lacks what the source's extensions take.
  ModuleBuilt build(const Task& task, const std::string& source, const std::string& architecture);
  void prepare();
  const ExtensionCompiler& compiler() const { return compiler_; }

 private:
  void compile(const std::vector<nlohmann::json>& extensions, const ExtensionTools& with,
               const std::string& lacks, double until_s, ModuleBuilt& built);

  SourceBoxes boxes_;
  ExtensionCompiler compiler_;
  std::chrono::nanoseconds wall_;
};

// The extensions that an answer tells, each of which has a key. Errors: ConfigError.
std::vector<nlohmann::json> extensions_in(const nlohmann::json& json);

}  // namespace temper::env
