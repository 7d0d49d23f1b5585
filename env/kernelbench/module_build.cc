#include "env/kernelbench/module_build.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "env/kernelbench/module_reply.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kReadPatience{10};  // 64 KiB of source are read in hundredths of a second
constexpr int64_t kReadBytes = int64_t(1) << 30;

ModuleBoxOptions for_reading(ModuleBoxOptions options) {
  options.memory_bytes = kReadBytes;
  return options;
}

const Finding kCompileTimeout{VerdictKind::kFailCompile, "compile_timeout"};

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

std::vector<nlohmann::json> extensions_in(const nlohmann::json& json) {
  const auto found = json.find("extensions");
  if (found == json.end() || !found->is_array() || found->size() > kMaxExtensions)
    throw ConfigError("extensions is no list of at most {}", kMaxExtensions);
  for (const nlohmann::json& one : *found) {
    const auto key = one.is_object() ? one.find("key") : one.end();
    if (!one.is_object() || key == one.end() || !key->is_string() ||
        !is_extension_key(key->get<std::string>()))
      throw ConfigError("an extension without a key");
  }
  return *found;
}

SourceBoxes::SourceBoxes(ModuleBoxOptions options, std::string program)
    : options_(std::move(options)), program_(std::move(program)) {
  options_.device = "cpu";
  options_.gpu_uuid.clear();
  options_.nodes.clear();
}

std::unique_ptr<ModuleProcess> SourceBoxes::start() const {
  return std::make_unique<ModuleProcess>(
      options_, ModuleProgram{.program = program_, .arguments = {}, .descriptors = {}});
}

std::unique_ptr<ModuleProcess> SourceBoxes::take() {
  needed_ = true;
  return next_ ? std::exchange(next_, nullptr) : start();
}

void SourceBoxes::prepare() {
  if (needed_ && !next_) next_ = start();
}

ModuleGate::ModuleGate(ModuleBoxOptions options) : boxes_(for_reading(std::move(options)), "gate_main.py") {}

// A box that fails on a source knows nothing of it: that is found out where the source runs.
Found ModuleGate::refusal(const std::string& source) {
  const auto process = boxes_.take();
  process->wait_ready();
  const ModuleFrame frame = process->ask({{"op", "read"}, {"source", source}}, kReadPatience);
  if (!frame.json) return std::nullopt;
  try {
    if (status_in(*frame.json) != "failed") return std::nullopt;
    Finding finding = finding_of(*frame.json, failure_in(*frame.json));
    if (finding.kind == VerdictKind::kRejectPolicy) return finding;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

ModuleBuilder::ModuleBuilder(const ModuleBoxOptions& options, nanoseconds wall,
                             const std::filesystem::path& folder)
    : boxes_(options, "build_main.py"), compiler_(options, folder), wall_(wall) {}

void ModuleBuilder::prepare() {
  boxes_.prepare();
  compiler_.prepare();
}

// The box that imports the source is a stranger's as soon as it has it: with what extensions are compiled, and what the machine lacks
// for that, it says before. Where it ends by itself nothing is built, and the same will happen where the source runs.
ModuleBuilt ModuleBuilder::build(const Task& task, const std::string& source,
                                 const std::string& architecture) {
  ModuleBuilt built;
  if (!builds(source)) return built;
  const auto process = boxes_.take();
  const nlohmann::json ready = process->wait_ready();
  const double begun_s = now_s(), until_s = begun_s + std::chrono::duration<double>(wall_).count();
  const ModuleFrame read = process->ask({{"op", "build"},
                                         {"source", source},
                                         {"problem", task.reference},
                                         {"precision", task.module->precision},
                                         {"backend", backend_of(source)}},
                                        wall_);
  const ModuleFrame frame = read.json ? process->receive(wall_) : read;
  process->kill();
  try {
    if (!frame.json && frame.end == "timeout")
      built.failure = kCompileTimeout;
    else if (!frame.json && frame.end == "malformed")
      throw ConfigError("no answer");
    else if (frame.json && status_in(*frame.json) != "ok")
      built.failure = build_failure(*frame.json);
    else if (frame.json)
      compile(extensions_in(*frame.json), {ready.at("tools"), architecture}, ready.value("lacks", ""),
              until_s, built);
  } catch (const ConfigError& e) {
    built.failure = Finding{VerdictKind::kFailCompile, "compile_error",
                            "disturbed the process that compiles it", scrub(e.what()) + "\n"};
  }
  // That it is refused is said where it runs, whatever became of its extensions.
  if (read.json && read.json->value("refused", false)) built.failure.reset();
  built.ms = (now_s() - begun_s) * 1e3;
  return built;
}

// Up to the first that fails.
void ModuleBuilder::compile(const std::vector<nlohmann::json>& extensions, const ExtensionTools& with,
                            const std::string& lacks, double until_s, ModuleBuilt& built) {
  for (size_t i = 0; i < extensions.size() && !built.failure; ++i) {
    ExtensionMade made = compiler_.make(extensions[i], with, until_s);
    if (made.library)
      built.extensions.push_back({extensions[i].at("key"), std::move(*made.library)});
    else if (made.late)
      built.failure = kCompileTimeout;
    else if (made.failure.is_null())
      throw ConfigError("a compiler gives no answer");
    else if (!lacks.empty() && status_in(made.failure) == "infra")
      throw WorldError("extensions of modules cannot be compiled: {}", lacks);
    else
      built.failure = build_failure(made.failure);
  }
}

}  // namespace temper::env
