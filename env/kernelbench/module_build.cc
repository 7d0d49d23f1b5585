#include "env/kernelbench/module_build.h"

#include <algorithm>

#include "base/error.h"
#include "env/kernelbench/module_reply.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kBytesPatience{20'000'000'000};

bool builds(const std::string& source) { return source.find("cpp_extension") != std::string::npos; }

Finding build_failure(const nlohmann::json& json) {
  const ModuleFailure failure = failure_in(json);
  Finding finding = finding_of(json, failure);
  if (failure.error == "TimeoutExpired") finding.reason = "compile_timeout";
  // The words are the compiler's, not an exception's.
  if (finding.kind == VerdictKind::kFailCompile) finding.detail = failure.message;
  return finding;
}

}  // namespace

std::vector<std::string> extension_keys(const nlohmann::json& json) {
  const auto found = json.find("extensions");
  if (found == json.end() || !found->is_array() || found->size() > kMaxExtensions)
    throw ConfigError("extensions is no list of at most {}", kMaxExtensions);
  std::vector<std::string> keys;
  for (const nlohmann::json& one : *found) {
    const auto key = one.is_object() ? one.find("key") : one.end();
    if (!one.is_object() || key == one.end() || !key->is_string() ||
        !is_extension_key(key->get<std::string>()))
      throw ConfigError("an extension without a key");
    keys.push_back(key->get<std::string>());
  }
  return keys;
}

ModuleBuilder::ModuleBuilder(ModuleBoxOptions options, nanoseconds wall)
    : options_(std::move(options)), wall_(wall) {
  options_.device = "cpu";
  options_.gpu_uuid.clear();
  options_.nodes.clear();
}

std::unique_ptr<ModuleProcess> ModuleBuilder::start() const {
  return std::make_unique<ModuleProcess>(
      options_, ModuleProgram{.program = "build_main.py", .arguments = {}, .descriptors = {}});
}

// The box is a stranger's as soon as it has the source: what the machine lacks it says before, and is not believed later. Where
// it ends by itself nothing was built, and the same will happen where the source runs.
ModuleBuilt ModuleBuilder::build(const Task& task, const std::string& source,
                                 const std::string& architecture) {
  ModuleBuilt built;
  if (!builds(source)) return built;
  needed_ = true;
  const auto process = next_ ? std::exchange(next_, nullptr) : start();
  const std::string lacks = process->wait_ready().value("lacks", "");
  const double begun_s = now_s();
  const ModuleFrame read = process->ask({{"op", "build"},
                                         {"source", source},
                                         {"problem", task.reference},
                                         {"precision", task.module->precision},
                                         {"backend", backend_of(source)},
                                         {"architecture", architecture}},
                                        wall_);
  const ModuleFrame frame = read.json ? process->receive(wall_) : read;
  try {
    if (!frame.json && frame.end == "timeout")
      built.failure = Finding{VerdictKind::kFailCompile, "compile_timeout"};
    else if (!frame.json && frame.end == "malformed")
      throw ConfigError("no answer");
    else if (frame.json && !lacks.empty() && status_in(*frame.json) == "infra")
      throw WorldError("extensions of modules cannot be compiled: {}", lacks);
    else if (frame.json && status_in(*frame.json) != "ok")
      built.failure = build_failure(*frame.json);
    else if (frame.json)
      for (const std::string& key : extension_keys(*frame.json)) {
        auto bytes = process->receive_bytes(kBytesPatience);
        if (!bytes) throw ConfigError("an extension does not come");
        built.extensions.push_back({key, std::move(*bytes)});
      }
  } catch (const ConfigError& e) {
    built.failure = Finding{VerdictKind::kFailCompile, "compile_error",
                            "disturbed the process that compiles it", scrub(e.what()) + "\n"};
  }
  // That it is refused is said where it runs, whatever became of its extensions.
  if (read.json && read.json->value("refused", false)) built.failure.reset();
  built.ms = (now_s() - begun_s) * 1e3;
  return built;
}

void ModuleBuilder::prepare() {
  if (needed_ && !next_) next_ = start();
}

}  // namespace temper::env
