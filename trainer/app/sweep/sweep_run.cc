#include "trainer/app/sweep/sweep_run.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/machine/cores.h"
#include "base/process.h"
#include "policy/cuda/device.h"
#include "policy/cuda/plan.h"
#include "trainer/app/report/held_out.h"
#include "trainer/app/report/report.h"
#include "trainer/app/sweep/cell_process.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLastWords = 6;
constexpr auto kPoll = std::chrono::milliseconds(100);

std::string minutes(double seconds) {
  return seconds < 60 ? fmt::format("{:.0f} s", seconds)
                      : fmt::format("{} min {:02} s", int64_t(seconds) / 60, int64_t(seconds) % 60);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.find_first_not_of(" \r") != std::string::npos)
      lines.push_back(line.substr(line.rfind('\r') + 1));
  return lines;
}

// The first line in which two configs differ, as "was …, is …".
std::string first_difference(const std::string& old_text, const std::string& new_text) {
  const auto was = lines_of(old_text), is = lines_of(new_text);
  for (size_t i = 0; i < std::min(was.size(), is.size()); ++i)
    if (was[i] != is[i]) return fmt::format("was{}, is now{}", " " + was[i], " " + is[i]);
  return "other options";
}

// The GPUs that this process sees, as CUDA_VISIBLE_DEVICES names them.
std::vector<std::string> visible_gpus() {
  const auto count = size_t(policy::cuda::gpu_count());
  std::vector<std::string> names;
  if (const char* chosen = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::istringstream list(chosen);
    for (std::string name; std::getline(list, name, ',') && names.size() < count;) names.push_back(name);
  }
  while (names.size() < count) names.push_back(std::to_string(names.size()));
  return names;
}

bool wants_gpu(const RunConfig& config) {
  if (config.model.device != "auto") return config.model.device != "cpu";
  return policy::cuda::gpu_count() > 0 && policy::cuda::unknown_to_gpu(config.model.shape).empty();
}

std::vector<MachineShare> slots_of(const Sweep& sweep, int64_t parallel) {
  const bool gpu =
      std::ranges::any_of(sweep.cells, [](const SweepCell& cell) { return wants_gpu(cell.config); });
  const std::vector<std::string> gpus = gpu ? visible_gpus() : std::vector<std::string>();
  std::vector<int> cores = allowed_cores();
  cores.resize(size_t(allowed_core_count()));
  const auto most = std::min<int64_t>(std::ssize(cores), gpus.empty() ? std::ssize(cores) : std::ssize(gpus));
  if (parallel > most)
    throw ConfigError("--parallel: {} is more than the {} {} that cells can be given", parallel, most,
                      gpus.empty() ? "cores" : "GPUs");
  return split_machine(parallel > 0 ? parallel : gpus.empty() ? 1 : most, cores, gpus);
}

enum class State : uint8_t { kWaiting, kRunning, kFinished, kFailed };

struct Job {
  const SweepCell* cell;
  State state = State::kWaiting;
  double seconds = 0;
  std::vector<std::string> last_words = {};
};

class SweepRun {
 public:
  SweepRun(const Sweep& sweep, const SweepOptions& options)
      : sweep_(sweep), options_(options), shares_(slots_of(sweep, options.parallel)) {
    for (const SweepCell& start : sweep.starts) jobs_.push_back({&start});
    for (const SweepCell& cell : sweep.cells) jobs_.push_back({&cell});
    open();
  }

  int run() {
    say_plan();
    slots_.resize(shares_.size());
    while (step()) std::this_thread::sleep_for(kPoll);
    return finish();
  }

 private:
  struct Slot {
    std::optional<CellProcess> process;
    Job* job = nullptr;
    double start_s = 0;
  };

  fs::path run_dir(const SweepCell& cell) const { return sweep_.dir / cell.name; }
  fs::path config_path(const SweepCell& cell) const { return sweep_.dir / "configs" / (cell.name + ".yaml"); }
  fs::path log_path(const SweepCell& cell) const { return sweep_.dir / "log" / (cell.name + ".txt"); }
  fs::path state_path() const { return sweep_.dir / "state.json"; }

  void open() {
    if (fs::exists(sweep_.dir) && !fs::is_empty(sweep_.dir) && !fs::exists(state_path()))
      throw ConfigError("dir: {} exists and is not a sweep of this program; choose another",
                        sweep_.dir.string());
    std::error_code error;
    for (const char* part : {"configs/starts", "log/starts", "starts"}) {
      fs::create_directories(sweep_.dir / part, error);
      if (error) throw WorldError("dir: cannot create {}: {}", (sweep_.dir / part).string(), error.message());
    }
    lock_ = Fd(::open((sweep_.dir / "state.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!lock_) throw system_error(fmt::format("open {}", (sweep_.dir / "state.lock").string()));
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
      throw ConfigError("dir: another process runs a sweep in {}", sweep_.dir.string());
    read_state();
    for (const Job& job : jobs_) check_config(*job.cell);
    for (const Job& job : jobs_) write_file_atomic(config_path(*job.cell), to_yaml(job.cell->config));
    write_state();
  }

  // What is done stays done only as long as its run is there. Cells that the file no longer names are kept.
  void read_state() try {
    if (!fs::exists(state_path())) return;
    state_ = read_json(state_path());
    for (Job& job : jobs_) {
      if (!state_.contains(job.cell->name) || !fs::exists(run_dir(*job.cell) / "config.yaml")) continue;
      const nlohmann::json& found = state_[job.cell->name];
      if (!found.is_object()) throw ConfigError("{}: is not the state of a sweep", state_path().string());
      // The cell's own word counts too: a sweep that was killed may not have heard of its end.
      if (found.value("state", "") == "finished" || fs::exists(run_dir(*job.cell) / "finished.json"))
        job.state = State::kFinished;
      job.seconds = found.value("seconds", 0.0);
    }
  } catch (const nlohmann::json::exception&) {  // a word where a number belongs, and the like
    throw ConfigError("{}: is not the state of a sweep", state_path().string());
  }

  void write_state() {
    for (const Job& job : jobs_)
      state_[job.cell->name] = {{"state", state_name(job.state)}, {"seconds", job.seconds}};
    write_file_atomic(state_path(), state_.dump(2) + "\n");
  }

  static const char* state_name(State state) {
    return state == State::kFinished ? "finished" : state == State::kFailed ? "failed" : "not run";
  }

  void check_config(const SweepCell& cell) const {
    if (!fs::exists(config_path(cell)) || !fs::exists(run_dir(cell) / "config.yaml")) return;
    const std::string old_text = read_file(config_path(cell)), new_text = to_yaml(cell.config);
    if (old_text != new_text)
      throw ConfigError("{} was run with other options ({}): choose another dir, or delete {}", cell.name,
                        first_difference(old_text, new_text), run_dir(cell).string());
  }

  int64_t count(State state) const { return std::ranges::count(jobs_, state, &Job::state); }

  void say_plan() const {
    const auto done = count(State::kFinished);
    fmt::print("sweep in {}: {} cells{}{}{}\n", sweep_.dir.string(), sweep_.cells.size(),
               sweep_.starts.empty() ? "" : fmt::format(" from {} cold starts", sweep_.starts.size()),
               done > 0 ? fmt::format(", {} of {} done already", done, jobs_.size()) : "",
               shares_.size() > 1 ? fmt::format(", {} at a time", shares_.size()) : "");
    std::fflush(stdout);
  }

  // Takes what has ended, starts what can be started; false once nothing runs and nothing more will.
  bool step() {
    bool busy = false;
    for (Slot& slot : slots_) {
      if (slot.process)
        if (const auto code = slot.process->poll()) end(slot, *code);
      if (!slot.process && !interrupted())
        if (Job* next = next_job()) begin(slot, shares_[size_t(&slot - slots_.data())], *next);
      busy = busy || slot.process;
    }
    if (interrupted() && !std::exchange(stopping_, true)) stop();
    return busy;
  }

  // Cells whose cold start failed fail with it.
  Job* next_job() {
    for (Job& job : jobs_) {
      if (job.state != State::kWaiting) continue;
      if (job.cell->start.empty()) return &job;
      const auto start =
          std::ranges::find(jobs_, job.cell->start, [](const Job& other) { return other.cell->name; });
      if (start->state == State::kFinished) return &job;
      if (start->state != State::kFailed) continue;
      job.state = State::kFailed;
      job.last_words = {job.cell->start + " failed, from which it begins"};
    }
    return nullptr;
  }

  void begin(Slot& slot, const MachineShare& share, Job& job) {
    const RunConfig& config = job.cell->config;
    const auto cores = share.cores.size();
    std::vector<std::string> words = {"train", config_path(*job.cell).string()};
    if (config.run.threads == 0) words.push_back(fmt::format("run.threads={}", cores));
    if (config.env.lanes == 0) words.push_back(fmt::format("env.lanes={}", cores));
    // What was stopped goes on; a run that left nothing to go on from begins anew.
    if (fs::exists(run_dir(*job.cell)) && !fs::exists(run_dir(*job.cell) / "run.lock"))
      words.push_back("run.overwrite=true");
    job.state = State::kRunning;
    slot = {CellProcess::start(words, share, log_path(*job.cell)), &job, now_s()};
    fmt::print("{}: begins; temper report --watch {}\n", job.cell->name, run_dir(*job.cell).string());
    std::fflush(stdout);
  }

  void end(Slot& slot, int code) {
    Job& job = *slot.job;
    slot.process.reset();
    job.seconds = now_s() - slot.start_s;
    job.state = code == kExitOk ? State::kFinished : interrupted() ? State::kWaiting : State::kFailed;
    if (job.state == State::kFailed) {
      job.last_words = lines_of(read_file(log_path(*job.cell)));
      if (job.last_words.size() > kLastWords)
        job.last_words.erase(job.last_words.begin(), job.last_words.end() - kLastWords);
      job.last_words.push_back(
          fmt::format("(exit code {}; its output: {})", code, log_path(*job.cell).string()));
    }
    write_state();
    fmt::print("{}: {}\n", job.cell->name, outcome(job));
    std::fflush(stdout);
  }

  std::string outcome(const Job& job) const {
    if (job.state == State::kFailed)
      return fmt::format("FAILED after {}: {}", minutes(job.seconds), job.last_words[0]);
    if (job.state == State::kWaiting) return "stopped";
    const RunRecord run = read_run(run_dir(*job.cell));
    const RunGroup alone{"", {&run}};
    if (run.evaluation(true).empty()) return fmt::format("done in {}", minutes(job.seconds));
    return fmt::format("done in {}: held out correct {}, fast_1 {}", minutes(job.seconds),
                       before_after_text(before_after(alone, "val/sampled", "correct"), true),
                       before_after_text(before_after(alone, "val/sampled", "fast_1"), true));
  }

  void stop() {
    fmt::print(stderr,
               "interrupted: running cells finish their step and save; Ctrl-C again ends them at once\n");
    for (Slot& slot : slots_)
      if (slot.process) slot.process->stop();
  }

  int finish() {
    write_state();
    std::vector<CellResult> results;
    std::vector<RunRecord> records;
    std::vector<std::optional<size_t>> of_cell;
    for (const Job& job : jobs_) {
      const SweepCell& cell = *job.cell;
      if (cell.variant.empty() && job.state != State::kFailed) continue;  // a cold start
      results.push_back({cell.name, cell.variant, state_name(job.state), cell.config.run.seed, job.seconds,
                         job.last_words});
      const bool there = !cell.variant.empty() && fs::exists(run_dir(cell) / "config.yaml");
      of_cell.push_back(there ? std::optional(records.size()) : std::nullopt);
      if (there) records.push_back(read_run(run_dir(cell)));
    }
    write_results(results, records, of_cell);
    return conclude(results);
  }

  void write_results(const std::vector<CellResult>& all, const std::vector<RunRecord>& records,
                     const std::vector<std::optional<size_t>>& of_cell) const {
    std::vector<CellResult> results;
    std::vector<const RunRecord*> runs;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].variant.empty()) continue;
      results.push_back(all[i]);
      runs.push_back(of_cell[i] ? &records[*of_cell[i]] : nullptr);
    }
    const std::string table = sweep_table(results, runs),
                      title = fs::absolute(sweep_.dir).filename().string();
    const std::string about =
        "Held-out tasks, sampled, last answers unless said otherwise; before → after, mean ± "
        "standard deviation over seeds.\n";
    fmt::print("\n{}\n{}", table, failures_text(all));
    write_file_atomic(sweep_.dir / "sweep.md",
                      fmt::format("# {}\n\n{}\n{}\n{}", title, about, table, failures_text(all)));
    write_file_atomic(sweep_.dir / "sweep.csv", sweep_csv(results, runs));
    fmt::print("\ntables: {}, {}\n", (sweep_.dir / "sweep.md").string(), (sweep_.dir / "sweep.csv").string());
    if (records.empty()) return;
    write_file_atomic(sweep_.dir / "report.html", report_page(report_data(records, {.title = title})));
    fmt::print("report: {}\n", (sweep_.dir / "report.html").string());
  }

  int conclude(const std::vector<CellResult>& results) const {
    const auto failed = std::ranges::count(results, "failed", &CellResult::state);
    if (failed > 0) fmt::print("{} failed; run them again, and them alone: {}\n", failed, options_.again);
    if (!interrupted()) return failed > 0 ? kExitCandidateFailed : kExitOk;
    fmt::print("{} of {} done; to continue: {}\n", count(State::kFinished), jobs_.size(), options_.again);
    return kExitInterrupted;
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  std::vector<MachineShare> shares_;
  std::vector<Job> jobs_;
  std::vector<Slot> slots_;
  nlohmann::json state_ = nlohmann::json::object();
  Fd lock_;
  bool stopping_ = false;
};

}  // namespace

int run_sweep(const Sweep& sweep, const SweepOptions& options) { return SweepRun(sweep, options).run(); }

}  // namespace temper::trainer
