#include "trainer/run.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "policy/activity.h"
#include "policy/hugging_face.h"
#include "trainer/console.h"
#include "trainer/ranks.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kWeightBytes = 4;
constexpr int64_t kRecordBytes = 64 << 20;  // metrics, trajectories and log of a run, with room to spare

bool is_run(const fs::path& dir) {
  return fs::exists(dir / "config.yaml") && fs::exists(dir / "checkpoints");
}

bool is_used(const fs::path& dir) { return fs::exists(dir) && !(fs::is_directory(dir) && fs::is_empty(dir)); }

void check_unused(const fs::path& dir, bool overwrite) {
  if (!is_used(dir)) return;
  if (!is_run(dir))
    throw ConfigError(
        "run.dir: {} exists and is not a run of this program; choose another name (run.name or run.dir)",
        dir.string());
  if (!overwrite)
    throw ConfigError(
        "run.dir: {} holds a run already; choose another run.name or run.dir, or pass run.overwrite=true "
        "to delete it",
        dir.string());
}

// The lowest folder on the way to `dir` that exists.
fs::path existing_parent(fs::path dir) {
  dir = fs::absolute(dir);
  while (!fs::exists(dir)) dir = dir.parent_path();
  return dir;
}

void check_room(const RunConfig& config, const fs::path& dir) {
  const fs::path disk = existing_parent(dir);
  const ModelConfig shape =
      config.model.path.empty() ? config.model.shape : read_model_config(config.model.path);
  const uint64_t needed = uint64_t(2 * kWeightBytes * shape.parameter_count() + kRecordBytes);
  if (const uint64_t available = free_disk_bytes(disk); available < needed)
    throw WorldError(
        "run.dir: {} needs about {} MiB and its disk has {} MiB free; make room or choose another run.dir",
        dir.string(), needed >> 20, available >> 20);
}

void make_directories(const fs::path& dir) {
  for (const char* part : {"trajectories", "checkpoints", "log"}) {
    std::error_code error;
    fs::create_directories(dir / part, error);
    if (error)
      throw WorldError("run.dir: cannot create {}: {}; choose a run.dir that can be written",
                       (dir / part).string(), error.message());
  }
}

void open_log(const fs::path& path) {
  auto logger = std::make_shared<spdlog::logger>(
      kRunLog, std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void close_log() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("")); }

void remove_quietly(const fs::path& dir) {
  std::error_code ignored;
  fs::remove_all(dir, ignored);
}

}  // namespace

void check_run_directory(const RunConfig& config) {
  const fs::path dir = config.run.path();
  check_unused(dir, config.run.overwrite);
  check_room(config, dir);
  const fs::path probe = existing_parent(dir) / fmt::format(".temper_probe_{}", ::getpid());
  std::error_code error;
  if (!fs::create_directory(probe, error))
    throw WorldError("run.dir: cannot write {}: {}; choose a run.dir that can be written", dir.string(),
                     error.message());
  fs::remove(probe, error);
}

Run::Run(const RunConfig& config, Communicator& ranks)
    : options_(config.run), ranks_(ranks), dir_(config.run.path()) {
  if (ranks_.rank() == 0) make(config);
  ranks_.barrier("run directory");
  if (ranks_.rank() == 0) return;
  make_directories(dir_);  // on another host they may not be there
  open_log(dir_ / "log" / fmt::format("rank_{}.txt", ranks_.rank()));
}

void Run::make(const RunConfig& config) {
  check_run_directory(config);
  if (is_used(dir_)) fs::remove_all(dir_);
  try {
    make_directories(dir_);
    write_file_atomic(dir_ / "config.yaml", to_yaml(config));
    metrics_ = std::make_unique<MetricsWriter>(dir_);
    open_log(dir_ / "log" / "rank_0.txt");
  } catch (...) {
    remove_quietly(dir_);
    throw;
  }
}

Run::~Run() {
  close_log();
  if (!recorded_ && ranks_.rank() == 0) remove_quietly(dir_);
}

fs::path Run::trajectories(const std::string& name) const {
  return dir_ / "trajectories" / (name + ".jsonl");
}

bool Run::goes_on(int64_t step) {
  if (first_step_s_ == 0) first_step_s_ = now_s();
  const bool late = options_.max_seconds > 0 && now_s() - first_step_s_ >= options_.max_seconds;
  if (ranks_.any(late && ranks_.rank() == 0, "clock")) return false;
  return step <= options_.steps && !any_interrupted(ranks_);
}

void Run::record(int64_t step, const Metrics& metrics) {
  if (metrics_) metrics_->write(step, metrics);
}

void Run::record(int64_t step, const Metrics& metrics, const Batch& batch) {
  const Phase phase("save");
  record(step, metrics);
  recorded_ = true;
  if (ranks_.rank() == 0) append_trajectories(trajectories(fmt::format("step_{:06}", step)), batch);
}

fs::path Run::save_checkpoint(const std::string& name, const Model& model) {
  const Phase phase("save");
  const fs::path path = dir_ / "checkpoints" / name;
  if (ranks_.rank() == 0) export_hugging_face(model.policy, model.tokenizer, path);
  recorded_ = true;
  ranks_.barrier("save");
  return path;
}

}  // namespace temper
