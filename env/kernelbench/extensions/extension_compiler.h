#pragma once
// Compiles the extensions of modules in boxes in which no candidate's Python runs (compile_main.py): one box for each source, another
// that links. What a box makes depends on what it is given and on nothing else, and is kept for whoever gives the same.

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "env/kernelbench/extensions/object_cache.h"
#include "env/kernelbench/module_process.h"

namespace temper::env {

// What comes of an extension: its library, or why there is none.
struct ExtensionMade {
  std::optional<std::string> library;
  nlohmann::json failure;  // as compile_main.py tells it; null where a box gave no answer
  bool late = false;       // whether that is because the time was over
};

// With what extensions are compiled. Both come from a process of ours (build_main.py) before anything foreign ran in it.
struct ExtensionTools {
  nlohmann::json tools;
  std::string architecture;  // "90a"
};

class ExtensionCompiler {
 public:
  // `folder` is where processes share what was compiled and torch's precompiled headers; boxes must not be able to write to it. It may
  // be empty: then nothing is kept. Errors: WorldError.
  ExtensionCompiler(ModuleBoxOptions options, const std::filesystem::path& folder);

  // `extension` is what build_main.py says of one: a stranger's words. Errors: ConfigError if they are of another form; WorldError if no
  // box can be made.
  ExtensionMade make(const nlohmann::json& extension, const ExtensionTools& with, double until_s);

  // Precompiles the headers that were asked for, unless another process does. Errors: WorldError; that kind is not tried again, by no
  // process.
  void prepare();

  // How many objects and libraries were compiled and linked, and how many were there. For tests.
  int64_t made() const { return made_; }
  int64_t found() const { return found_; }

 private:
  struct Work;
  std::unique_ptr<ModuleProcess> box(const std::string& headers) const;
  static Work work_of(nlohmann::json request);
  void begin(Work& work, const ExtensionTools& with);
  ExtensionMade finish(Work& work, double until_s);
  std::string headers_for(const nlohmann::json& unit, const ExtensionTools& with);
  void precompile(const nlohmann::json& request, const std::filesystem::path& folder) const;

  ModuleBoxOptions options_;
  std::filesystem::path headers_;  // a folder for each kind; or empty
  ObjectCache cache_;
  std::map<std::string, nlohmann::json> asked_;  // requests for headers, by kind
  int64_t made_ = 0, found_ = 0;
};

// The flags that say which precompiled headers a unit can use; nothing if there are none for it. Flags that concern no header are left
// out.
std::optional<std::vector<std::string>> header_flags(const nlohmann::json& unit);

}  // namespace temper::env
