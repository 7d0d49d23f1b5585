#include "trainer/run/run.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "policy/chat/choice.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/parameters/replicas.h"
#include "policy/ranks/activity.h"
#include "rollout/trajectory_file.h"
#include "trainer/checkpoint/room.h"
#include "trainer/learn/learner.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr double kSameRate = 0.01;
constexpr uint64_t kRecordBytes = 64 << 20;  // metrics, trajectories and log of a run, with room to spare

// The lowest folder on the way to `dir` that exists.
fs::path existing_parent(fs::path dir) {
  dir = fs::absolute(dir);
  while (!fs::exists(dir)) dir = dir.parent_path();
  return dir;
}

void check_room(const RunConfig& config, const fs::path& dir, bool goes_on) {
  const fs::path disk = existing_parent(dir);
  const policy::ModelConfig shape =
      config.model.path.empty() ? config.model.shape : policy::read_model_config(config.model.path);
  const auto present = goes_on ? int64_t(list_checkpoints(dir / "checkpoints").size()) : 0;
  const uint64_t needed = room_for_checkpoints(config, shape, present) + kRecordBytes;
  if (const uint64_t available = free_disk_bytes(disk); available < needed)
    throw WorldError(
        "run.dir: {} needs about {} MiB and its disk has {} MiB free; make room or choose another run.dir",
        dir.string(), needed >> 20, available >> 20);
}

void make_directories(const fs::path& dir) {
  for (const char* part : {"trajectories", "checkpoints", "verdicts", "log"}) {
    std::error_code error;
    fs::create_directories(dir / part, error);
    if (error)
      throw WorldError("run.dir: cannot create {}: {}; choose a run.dir that can be written",
                       (dir / part).string(), error.message());
  }
}

// Reports only once that the log cannot be written, since its lines are also on the terminal.
class LogSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogSink(const fs::path& path) : file_(path) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override try {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    file_.append({line.data(), line.size()});
  } catch (const std::exception& e) {
    if (!std::exchange(told_, true)) fmt::print(stderr, "WARNING: the log is not whole: {}\n", e.what());
  }
  void flush_() override {}

  AppendFile file_;
  bool told_ = false;
};

void open_log(const fs::path& path) {
  auto logger = std::make_shared<spdlog::logger>(kRunLog, std::make_shared<LogSink>(path));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void close_log() { spdlog::set_default_logger(std::make_shared<spdlog::logger>("")); }

void remove_quietly(const fs::path& dir) {
  std::error_code ignored;
  fs::remove_all(dir, ignored);
}

// A schedule follows run.steps. Where these were changed, the learning rate of the next step is not what follows the last one's.
std::string jump_of_rate(const RunConfig& config, const Manifest& last) {
  const auto steps = std::stoll(last.config.at("run.steps"));
  if (steps == config.run.steps || last.step == 0 || last.step >= config.run.steps) return "";
  const int64_t updates = config.learner.epochs * config.learner.updates_per_batch;
  const double before =
      learning_rate(config.optimizer, progress(config.learner, steps, last.step, updates - 1));
  const double now =
      learning_rate(config.optimizer, progress(config.learner, config.run.steps, last.step + 1, 0));
  const double next = learning_rate(config.optimizer, progress(config.learner, steps, last.step + 1, 0));
  if (std::abs(now - next) <= kSameRate * std::max(now, next)) return "";
  return fmt::format(
      "the learning rate goes from {:.3g} to {:.3g}: optimizer.schedule={} follows run.steps, which was {} "
      "and is {}",
      before, now, config.optimizer.schedule, steps, config.run.steps);
}

}  // namespace

RunStart check_run_directory(const RunConfig& config) {
  const fs::path dir = config.run.path();
  RunStart start = find_start(config);
  check_room(config, dir, start.kind == RunStart::Kind::kCheckpoint && fs::exists(dir));
  const fs::path probe = existing_parent(dir) / fmt::format(".temper_probe_{}", ::getpid());
  std::error_code error;
  if (!fs::create_directory(probe, error))
    throw WorldError("run.dir: cannot write {}: {}; choose a run.dir that can be written", dir.string(),
                     error.message());
  fs::remove(probe, error);
  return start;
}

std::vector<std::string> fork_lines(const RunConfig& config, const Checkpoint& origin) {
  std::vector<std::string> lines = {
      fmt::format("a new run from {}, after step {}", origin.dir.string(), origin.manifest.step)};
  for (const std::string& change : changes_of_fork(origin, config)) lines.push_back("  " + change);
  if (lines.size() == 1) lines.push_back("  with the same options");
  return lines;
}

Run::Run(const RunConfig& config, policy::Communicator& ranks)
    : options_(config.run), start_(start_facts(ranks.size())), ranks_(ranks), dir_(config.run.path()) {
  RunStart start;
  if (ranks_.rank() == 0) {
    start = check_run_directory(config);
    make(config, start.kind);
  }
  own();
  shared_ = !ranks_.any(!fs::exists(dir_ / "checkpoints"), "run directory");
  if (ranks_.rank() > 0) {
    make_directories(dir_);  // on another host they may not be there
    open_log(dir_ / "log" / fmt::format("rank_{}.txt", ranks_.rank()));
  }
  if (!epoch_.text().empty()) {
    guard_writes(dir_, [epoch = epoch_] { return epoch.hold(); });
    guarding_ = std::shared_ptr<void>(nullptr, [](void*) { guard_writes("", nullptr); });
  }
  forked_ = ranks_.any(start.kind == RunStart::Kind::kFork, "fork");
  if (forked_ || ranks_.any(start.kind == RunStart::Kind::kCheckpoint, "checkpoint")) choose(config, start);
  if (ranks_.rank() == 0) keep_config(config);
  open_journals();
  spdlog::info("program: {}", start_.dump());
  if (ranks_.rank() > 0) return;
  write_file_atomic(dir_ / "run.json", start_.dump(1) + "\n");
  metrics_ = std::make_unique<MetricsWriter>(dir_);
  metrics_->begin(start_);
}

// All ranks that see the directory are of the start that rank 0 has begun.
void Run::own() {
  const std::string text = ranks_.broadcast(epoch_.text(), 0, "run directory");
  if (ranks_.rank() > 0 && fs::exists(dir_ / "run.epoch")) epoch_ = RunEpoch(dir_, text);
}

// Makes those parts of the directory that are known before a checkpoint is chosen.
void Run::make(const RunConfig& config, RunStart::Kind kind) {
  const bool fresh = !fs::exists(dir_);
  try {
    make_directories(dir_);
    lock_ = RunLock(dir_);
    epoch_ = RunEpoch::begin(dir_);
    if (kind == RunStart::Kind::kAgain || kind == RunStart::Kind::kFork) clear_records(dir_);
    if (config.run.overwrite) clear_all(dir_);
    make_directories(dir_);
    open_log(dir_ / "log" / "rank_0.txt");
  } catch (...) {
    if (fresh) remove_quietly(dir_);
    throw;
  }
  recorded_ = kind == RunStart::Kind::kAgain || kind == RunStart::Kind::kCheckpoint;
  if (kind == RunStart::Kind::kAgain)
    said_at_start_ = {
        "it was stopped before its first checkpoint and begins again, with the verdicts it had"};
}

// Goes on from the newest checkpoint that is whole, and takes back what was recorded after it.
void Run::choose(const RunConfig& config, const RunStart& start) {
  Choice choice =
      choose_checkpoint(start.checkpoints, config, ranks_, forked_ ? Misfit(misfit_of_fork) : Misfit(misfit));
  if (!choice.checkpoint && forked_)
    throw ConfigError("checkpoint.fork: nothing can be begun from:\n{}", choice.reasons());
  if (!choice.checkpoint)
    throw ConfigError("run.dir: {} has no checkpoint to resume from:\n{}\n{}", dir_.string(),
                      choice.reasons(), kWayOut);
  checkpoint_ = std::move(choice.checkpoint);
  if (forked_) return begin_fork(config, choice.refused);
  const Manifest& manifest = checkpoint_->manifest;
  if (manifest.config.at("checkpoint.best") == to_map(config).at("checkpoint.best"))
    last_[config.checkpoint.best] = manifest.metric;  // NaN where there is none
  if (ranks_.rank() == 0) cut_back(dir_, *checkpoint_, choice.refused);
  note_refused(choice.refused);
  const std::string place = manifest.cold_start
                                ? fmt::format("update {} of the cold start", manifest.cold_start->updates)
                                : fmt::format("step {}", manifest.step);
  said_at_start_.push_back(fmt::format("resumes after {}, from {}", place, checkpoint_->dir.string()));
  if (const std::string jump = jump_of_rate(config, manifest); !jump.empty()) said_at_start_.push_back(jump);
}

// The user's own words are kept as they are now: the run's config names these copies, which lie beside it.
void Run::keep_config(RunConfig config) const {
  rollout::PromptOptions& prompt = config.rollout.context.prompt;
  const auto keep = [&](const char* name, const rollout::PromptTemplate& text, std::string& path) {
    if (path.empty()) return;
    path = fmt::format("prompt/{}.txt", name);
    fs::create_directories(dir_ / "prompt");
    write_file_atomic(dir_ / path, text.text() + "\n");
  };
  keep("system", prompt.system_text, prompt.system_file);
  keep("first", prompt.first_text, prompt.first);
  keep("later", prompt.later_text, prompt.later);
  write_file_atomic(dir_ / "config.yaml", to_yaml(config));
}

void Run::note_refused(const std::vector<RefusedCheckpoint>& refused) {
  for (const auto& [dir, reason] : refused)
    said_at_start_.push_back(fmt::format("checkpoint {} is not used: {}", dir.filename().string(), reason));
}

// Begins a fork. The other run is not changed, and none of its records is copied.
void Run::begin_fork(const RunConfig& config, const std::vector<RefusedCheckpoint>& refused) {
  note_refused(refused);
  for (const std::string& line : fork_lines(config, *checkpoint_)) said_at_start_.push_back(line);
  if (ranks_.rank() == 0) mark_fork(dir_, config, *checkpoint_);
}

void Run::say_start() const {
  for (const std::string& line : said_at_start_) say_line(line);
}

void Run::open_journals() {
  std::vector<uint64_t> known;
  fs::path from = dir_;
  if (checkpoint_ && !forked_) {
    for (const RankRecord& rank : checkpoint_->manifest.ranks) known.push_back(rank.verdict_bytes);
    from = run_of(checkpoint_->dir);
  }
  nlohmann::json shared;
  if (ranks_.rank() == 0) shared = share_journals(dir_, from, known, ranks_.size());
  shared = nlohmann::json::parse(ranks_.broadcast(shared.dump(), 0, "journals"));
  known_verdict_bytes_ = shared.at(size_t(ranks_.rank()));
}

Run::~Run() {
  close_log();
  guarding_ = nullptr;
  std::error_code ignored;
  const bool judged = fs::exists(journal(), ignored) && fs::file_size(journal(), ignored) > 0;
  if (!recorded_ && (!judged || interrupted()) && ranks_.rank() == 0) remove_quietly(dir_);
}

void Run::keep(const std::string& name, std::span<const rollout::Trajectory* const> trajectories) {
  if (ranks_.rank() > 0) return;
  rollout::write_trajectories(dir_ / "trajectories" / (name + rollout::kTrajectoryFile), trajectories,
                              options_.trajectories == "zstd");
}

bool Run::goes_on(int64_t step) {
  if (first_step_s_ == 0) first_step_s_ = now_s() - seconds();
  const bool late = options_.max_seconds > 0 && seconds() >= options_.max_seconds;
  if (ranks_.any(late && ranks_.rank() == 0, "clock")) return false;
  return step <= options_.steps && !any_interrupted(ranks_);
}

double Run::seconds() const {
  if (first_step_s_ == 0) return checkpoint_ && !forked_ ? checkpoint_->manifest.seconds : 0;
  return now_s() - first_step_s_;
}

void Run::finish(int64_t step) {
  if (ranks_.rank() == 0) mark_finished(dir_, step, seconds());
}

double Run::last_value(const std::string& metric) const {
  const auto found = last_.find(metric);
  return found == last_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

void Run::record(int64_t step, const Metrics& metrics) {
  for (const auto& [name, value] : metrics) last_[name] = value;
  if (metrics_) metrics_->write(step, metrics);
}

void Run::record(int64_t step, const Metrics& metrics, const rollout::Batch& batch) {
  const policy::Phase phase("save");
  record(step, metrics);
  recorded_ = true;
  keep(fmt::format("step_{:06}", step), rollout::pointers_to(batch));
}

fs::path Run::save_checkpoint(const std::string& name, const Model& model) {
  const policy::Phase phase("save");
  const fs::path path = dir_ / "checkpoints" / name;
  ranks_.same_calls("save");
  policy::check_replicas(model.policy.parameters(), "save");
  if (ranks_.rank() == 0) {
    policy::export_hugging_face(model.policy, model.tokenizer, path,
                                {.origin = model.origin, .taught = true});
    policy::keep_layout(model.tokenizer, path);
  }
  recorded_ = true;
  ranks_.barrier("save");
  return path;
}

}  // namespace temper::trainer
