#include "trainer/run/run_directory.h"

#include <fcntl.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/machine/secret.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/watch.h"
#include "rollout/trajectory_file.h"
#include "trainer/config/config.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLock = "run.lock";
constexpr const char* kFinished = "finished.json";

constexpr const char* kFork = "fork.json";
constexpr const char* kEpoch = "run.epoch";
constexpr double kBeginPatience_s = 10, kHoldPatience_s = 60;

enum class Locked { kYes, kByOther, kUnknown };  // the last: a file system without locks

// Locks the open file description, so that the lock works between threads, containers and hosts, and ends with the
// file.
Locked lock(const Fd& file, short kind, double patience_s) {
  const double until_s = now_s() + patience_s;
  for (;;) {
    struct flock whole {};
    whole.l_type = kind;
    whole.l_whence = SEEK_SET;
    if (::fcntl(file.get(), F_OFD_SETLK, &whole) == 0) return Locked::kYes;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES) return Locked::kUnknown;
    if (now_s() >= until_s) return Locked::kByOther;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string read_epoch(const Fd& file) {
  char text[100];
  const ssize_t n = ::pread(file.get(), text, sizeof text, 0);
  if (n < 0) throw system_error("read run.epoch");
  const std::string all(text, size_t(n));
  return all.substr(0, all.find('\n'));
}

// The complete lines of the text.
std::string whole_lines(std::string text) {
  text.resize(text.rfind('\n') + 1);
  return text;
}

// How many bytes of a journal a checkpoint knows. A number in the middle of a line is another file's: ranks
// of another number have shared it since the checkpoint. Then all of it counts as later, and nothing is lost.
uint64_t known_part(const fs::path& journal, uint64_t bytes) {
  std::error_code none;
  const uint64_t size = fs::file_size(journal, none), there = none ? 0 : std::min(bytes, size);
  if (there == 0) return 0;
  std::ifstream file(journal, std::ios::binary);
  file.seekg(std::streamoff(there) - 1);
  return file.get() == '\n' ? there : 0;
}

bool is_run(const fs::path& dir) {
  return fs::exists(dir / kLock) || (fs::exists(dir / "config.yaml") && fs::exists(dir / "checkpoints"));
}

bool is_used(const fs::path& dir) { return fs::exists(dir) && !(fs::is_directory(dir) && fs::is_empty(dir)); }

bool same_folder(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

// Refuses to resume or restart a run if results of another config would be lost.
void check_same_config(const RunConfig& config, const fs::path& dir) {
  if (!fs::exists(dir / "config.yaml")) return;
  const RunConfig before = read_config((dir / "config.yaml").string(), {});
  std::string changes = changed_options(to_map(before), config);
  if (changes.empty()) changes = changed_words(words_of(before), config);
  if (!changes.empty())
    throw ConfigError(
        "run.dir: {} holds a run of another config: {}; choose another run.name or run.dir, or pass "
        "run.overwrite=true to delete it",
        dir.string(), changes);
}

// Reads a small JSON file of this program; empty if it is damaged.
nlohmann::json note_in(const fs::path& path) try { return read_json(path); } catch (const ConfigError&) {
  return nlohmann::json::object();
}

// Throws RunIsComplete if the run in the directory has finished and this config does not prolong it.
void check_unfinished(const RunConfig& config, const fs::path& dir) {
  if (!came_to_its_end(dir)) return;
  const nlohmann::json json = note_in(dir / kFinished), said = json.value("seconds", nlohmann::json());
  const auto last = whole_number(json.value("step", nlohmann::json()));
  if (!last || !said.is_number()) return;
  const int64_t step = *last;
  const double seconds = said, most = config.run.max_seconds;
  if (step < config.run.steps && (most == 0 || seconds < most)) return;
  check_same_config(config, dir);
  throw RunIsComplete(
      fmt::format("{} is complete: it ended after step {} ({:.0f} s); raise {} to continue it, choose "
                  "another run.name or "
                  "run.dir, or pass run.overwrite=true to delete it",
                  dir.string(), step, seconds, step < config.run.steps ? "run.max_seconds" : "run.steps"));
}

// Throws if none of the checkpoints can be used, judging by their manifests.
void check_some_fit(const RunConfig& config, const fs::path& dir, const std::vector<fs::path>& checkpoints) {
  std::vector<std::string> reasons;
  for (const fs::path& path : checkpoints) {
    try {
      const std::string why = misfit(read_checkpoint(path), config);
      if (why.empty()) return;
      reasons.push_back(fmt::format("{}: {}", path.filename().string(), why));
    } catch (const std::exception& e) {
      reasons.push_back(fmt::format("{}: {}", path.filename().string(), e.what()));
    }
  }
  throw ConfigError("run.dir: {} has no checkpoint to resume from:\n{}\n{}", dir.string(),
                    fmt::join(reasons, "\n"), kWayOut);
}

RunStart from_given_checkpoint(const RunConfig& config, const fs::path& dir) {
  const fs::path path = fs::path(config.checkpoint.resume).lexically_normal();
  const fs::path checkpoint = path.has_filename() ? path : path.parent_path();
  if (!fs::is_directory(checkpoint))
    throw ConfigError("checkpoint.resume: '{}' is not a folder: must be auto, never or a checkpoint's folder",
                      config.checkpoint.resume);
  try {
    if (const std::string why = misfit(read_checkpoint(checkpoint), config); !why.empty())
      throw ConfigError("{}", why);
  } catch (const std::exception& e) {
    throw ConfigError("checkpoint.resume: {}: {}", checkpoint.string(), e.what());
  }
  if (is_used(dir) && !same_folder(run_of(checkpoint), dir) && !config.run.overwrite)
    throw ConfigError(
        "run.dir: {} holds a run already, and not the one of checkpoint.resume; choose another run.name or "
        "run.dir",
        dir.string());
  if (config.run.overwrite && same_folder(run_of(checkpoint), dir))
    throw ConfigError("run.overwrite: true would delete the checkpoint of checkpoint.resume");
  return {RunStart::Kind::kCheckpoint, {checkpoint}};
}

std::string whole_path(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// The checkpoints that checkpoint.fork means, the newest first.
std::vector<fs::path> named_by_fork(const std::string& given) {
  fs::path path = fs::path(given).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::vector<fs::path> checkpoints;
  if (fs::exists(path / "manifest.json"))
    checkpoints = {path};
  else
    for (const fs::path& one : checkpoints_in(path / "checkpoints"))
      if (is_of_a_step(one)) checkpoints.push_back(one);
  if (!checkpoints.empty()) return checkpoints;
  throw ConfigError(
      "checkpoint.fork: '{}' {}", given,
      !fs::is_directory(path) ? "is not a folder"
      : fs::exists(path / "config.json")
          ? "is a model without an optimizer's moments: name the run or one of its step_… folders, or "
            "begin with the model alone, by model.path"
          : "has no checkpoint of a step; it must be a run's folder or one of its step_… folders");
}

// Older ones only where a newer one is damaged: what does not fit is the user's to decide.
std::vector<fs::path> whole_forks(const RunConfig& config, const std::vector<fs::path>& named) {
  std::vector<std::string> reasons;
  std::vector<fs::path> whole;
  for (const fs::path& path : named) {
    std::optional<Checkpoint> checkpoint;
    try {
      checkpoint = read_checkpoint(path);
    } catch (const std::exception& e) {
      reasons.push_back(fmt::format("{}: {}", path.string(), e.what()));
      continue;
    }
    if (whole.empty())
      if (const std::string why = misfit_of_fork(*checkpoint, config); !why.empty())
        throw ConfigError("checkpoint.fork: {}: {}", path.string(), why);
    whole.push_back(path);
  }
  if (whole.empty())
    throw ConfigError("checkpoint.fork: nothing can be begun from:\n{}", fmt::join(reasons, "\n"));
  return whole;
}

RunStart fork_of(const RunConfig& config, const fs::path& dir) {
  const std::vector<fs::path> named = named_by_fork(config.checkpoint.fork);
  if (fs::exists(dir) && same_folder(run_of(named.front()), dir))
    throw ConfigError(
        "run.dir: {} is the run that checkpoint.fork names; a fork is a run of its own: choose another "
        "run.name or "
        "run.dir",
        dir.string());
  return {RunStart::Kind::kFork, whole_forks(config, named)};
}

// A run that was begun otherwise is not gone on with as a fork.
void check_same_fork(const RunConfig& config, const fs::path& dir) {
  if (config.checkpoint.fork.empty() || !fs::exists(dir / "config.yaml")) return;
  std::string origin;
  if (fs::exists(dir / kFork)) {
    const nlohmann::json asked = note_in(dir / kFork).value("asked", nlohmann::json());
    if (asked.is_string()) origin = asked;
  }
  if (origin == whole_path(config.checkpoint.fork)) return;
  throw ConfigError(
      "run.dir: {} holds a run already, {}, not of checkpoint.fork: {}; choose another run.name or run.dir",
      dir.string(), origin.empty() ? "which is not a fork" : "a fork of " + origin, config.checkpoint.fork);
}

int64_t number_in(const std::string& name) {
  const size_t digit = name.find_first_of("0123456789");
  return digit == std::string::npos ? -1 : std::atoll(name.c_str() + digit);
}

// Whether a file is of a step after the checkpoint, or of an evaluation that the checkpoint does not know.
bool is_later(const std::string& name, const Manifest& manifest) {
  if (name.starts_with("step_")) return number_in(name) > manifest.step;
  for (const auto& evaluation : manifest.evaluations)
    if (name == fmt::format("eval_{}{}", evaluation.at("name").get<std::string>(), rollout::kTrajectoryFile))
      return false;
  return true;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  return paths;
}

bool is_event_file(const std::string& name) { return name.starts_with("events.out.tfevents."); }

}  // namespace

Fd RunLock::take(const fs::path& dir) {
  const fs::path path = dir / kLock;
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) throw system_error(fmt::format("create {}", path.string()));
  if (lock(file, F_WRLCK, 0) == Locked::kByOther)
    throw ConfigError("run.dir: {} is in use by another process: {}", dir.string(), read_file(path));
  return file;
}

RunEpoch RunEpoch::begin(const fs::path& dir) {
  RunEpoch epoch(dir, "");
  const Fd file(::open(epoch.file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) throw system_error(fmt::format("create {}", epoch.file_.string()));
  if (lock(file, F_WRLCK, kBeginPatience_s) == Locked::kByOther)
    throw WorldError(
        "run.dir: a process of an earlier start of {} is stopped in the middle of a write; end it first",
        dir.string());
  epoch.text_ = fmt::format("{} {}", std::atoll(read_epoch(file).c_str()) + 1, random_text());
  const std::string text = epoch.text_ + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != ssize_t(text.size()) || ::fsync(file.get()) != 0)
    throw system_error(fmt::format("write {}", epoch.file_.string()));
  return epoch;
}

std::shared_ptr<void> RunEpoch::hold() const {
  policy::fail_if_asked("write");
  auto file = std::make_shared<Fd>(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!*file) throw system_error(fmt::format("open {}", file_.string()));
  if (lock(*file, F_RDLCK, kHoldPatience_s) == Locked::kByOther)
    throw WorldError("{} is held by another start of the run", file_.string());
  const auto number = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  if (const std::string now = read_epoch(*file); now != text_)
    throw WorldError("{} was started again (start {}): this process is of start {} and writes no more",
                     file_.parent_path().string(), number(now), number(text_));
  return file;
}

RunLock::RunLock(const fs::path& dir) : file_(take(dir)) {
  const std::string owner = fmt::format("pid {} on host {}", ::getpid(), policy::host_name());
  if (::ftruncate(file_.get(), 0) != 0 || ::write(file_.get(), owner.data(), owner.size()) < 0)
    throw system_error(fmt::format("write {}", (dir / kLock).string()));
}

void RunLock::check(const fs::path& dir) {
  if (fs::exists(dir / kLock)) take(dir);
}

RunStart find_start(const RunConfig& config) {
  const fs::path dir = config.run.path();
  const std::string& resume = config.checkpoint.resume;
  if (is_used(dir) && !is_run(dir))
    throw ConfigError(
        "run.dir: {} exists and is not a run of this program; choose another name (run.name or run.dir)",
        dir.string());
  RunLock::check(dir);
  const bool forks = !config.checkpoint.fork.empty();
  if (resume != "auto" && resume != "never") {
    if (forks) throw ConfigError("checkpoint.fork: not together with a folder in checkpoint.resume");
    return from_given_checkpoint(config, dir);
  }
  if (!is_used(dir) || config.run.overwrite) return forks ? fork_of(config, dir) : RunStart{};
  if (resume == "never")
    throw ConfigError(
        "run.dir: {} holds a run already; choose another run.name or run.dir, pass run.overwrite=true to "
        "delete it, or checkpoint.resume=auto to resume it",
        dir.string());
  check_same_fork(config, dir);
  check_unfinished(config, dir);
  const std::vector<fs::path> checkpoints = list_checkpoints(dir / "checkpoints");
  if (!checkpoints.empty()) {
    check_some_fit(config, dir, checkpoints);
    return {RunStart::Kind::kCheckpoint, checkpoints};
  }
  check_same_config(config, dir);
  if (forks) return fork_of(config, dir);
  return {RunStart::Kind::kAgain, {}};
}

fs::path run_of(const fs::path& checkpoint) { return fs::absolute(checkpoint).parent_path().parent_path(); }

std::map<std::string, uint64_t> growing_files(const fs::path& dir) {
  std::map<std::string, uint64_t> files;
  for (const fs::path& path : entries(dir))
    if (const std::string name = path.filename().string(); name == "metrics.jsonl" || is_event_file(name))
      files[name] = fs::file_size(path);
  return files;
}

void cut_back(const fs::path& dir, const Checkpoint& checkpoint,
              const std::vector<RefusedCheckpoint>& refused) {
  const Manifest& manifest = checkpoint.manifest;
  fs::remove(dir / kFinished);
  for (const auto& [name, bytes] : growing_files(dir)) {
    const auto known = manifest.records.find(name);
    if (known == manifest.records.end())
      fs::remove(dir / name);
    else if (known->second < bytes)
      fs::resize_file(dir / name, known->second);
  }
  for (const fs::path& path : entries(dir / "trajectories"))
    if (is_later(path.filename().string(), manifest)) fs::remove(path);
  for (const RefusedCheckpoint& refusal : refused)
    if (fs::exists(refusal.dir)) {
      fs::remove_all(refusal.dir.string() + ".damaged");
      fs::rename(refusal.dir, refusal.dir.string() + ".damaged");
    }
  for (const fs::path& path : list_checkpoints(dir / "checkpoints"))
    if (is_later(path, manifest)) remove_folder(path);
  for (const fs::path& path : entries(dir / "checkpoints"))
    if (path.extension() == ".removed" || path.extension() == ".replaced" ||
        path.extension().string().starts_with(".tmp"))
      fs::remove_all(path);
}

void clear_records(const fs::path& dir) {
  for (const auto& [name, bytes] : growing_files(dir)) fs::remove(dir / name);
  for (const char* part : {"trajectories", "checkpoints", kFinished}) fs::remove_all(dir / part);
}

void clear_all(const fs::path& dir) {
  for (const fs::path& path : entries(dir))
    if (path.filename() != kLock && path.filename() != kEpoch) fs::remove_all(path);
}

void mark_fork(const fs::path& dir, const RunConfig& config, const Checkpoint& origin) {
  const nlohmann::json json = {{"asked", whole_path(config.checkpoint.fork)},
                               {"checkpoint", whole_path(origin.dir.string())},
                               {"manifest_sha256", sha256_of_file(origin.dir / "manifest.json")},
                               {"step", origin.manifest.step},
                               {"changes", changes_of_fork(origin, config)}};
  write_file_atomic(dir / kFork, json.dump(1) + "\n");
}

bool came_to_its_end(const fs::path& dir) { return fs::exists(dir / kFinished); }

void mark_finished(const fs::path& dir, int64_t step, double seconds) {
  write_file_atomic(dir / kFinished, nlohmann::json{{"step", step}, {"seconds", seconds}}.dump() + "\n");
}

fs::path journal_path(const fs::path& dir, int rank) {
  return dir / "verdicts" / fmt::format("rank_{}.jsonl", rank);
}

std::vector<uint64_t> share_journals(const fs::path& dir, const fs::path& from,
                                     const std::vector<uint64_t>& known, int ranks) {
  const auto text_of = [](const fs::path& path) {
    return fs::exists(path) ? whole_lines(read_file(path)) : "";
  };
  std::vector<uint64_t> shared = known;
  while (fs::exists(journal_path(from, int(shared.size())))) shared.push_back(0);
  for (size_t rank = 0; rank < shared.size(); ++rank)
    shared[rank] = known_part(journal_path(from, int(rank)), shared[rank]);
  if (same_folder(dir, from) && (ranks == int(shared.size()) || ranks == int(known.size()))) {
    shared.resize(size_t(ranks));
    return shared;
  }
  std::vector<std::string> before, after;
  for (size_t rank = 0; rank < shared.size(); ++rank) {
    const fs::path path = journal_path(from, int(rank));
    const std::string text = text_of(path);
    before.push_back(text.substr(0, shared[rank]));
    after.push_back(text_of(path.string() + ".replay") + text.substr(shared[rank]));
  }
  if (ranks != int(shared.size())) {
    before.assign(size_t(ranks), fmt::format("{}", fmt::join(before, "")));
    after.assign(size_t(ranks), fmt::format("{}", fmt::join(after, "")));
  }
  shared.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    shared.push_back(before[size_t(rank)].size());
    // In this order: what the journal loses is kept already, wherever the two are interrupted.
    write_file_atomic(journal_path(dir, rank).string() + ".replay", after[size_t(rank)]);
    write_file_atomic(journal_path(dir, rank), before[size_t(rank)]);
  }
  return shared;
}

}  // namespace temper::trainer
