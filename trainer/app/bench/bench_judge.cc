#include "trainer/app/bench/bench_judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/machine/child_process.h"
#include "trainer/app/bench/bench_candidates.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/process_tree.h"

namespace temper::trainer {

using env::HostHalfCounts;
using env::Judge;
using env::Task;
using env::Verdict;

namespace {

struct JudgeBench {
  int64_t count = 200, each = 0;
  std::string folder, hostile, log;
  bool same_hosts = false;
};

// Means or sums, in ms.
struct StageTimes {
  double compile = 0, plan = 0, run = 0;  // a core, the same core, a GPU or a core
  double check = 0, time = 0, doubt = 0;  // the same for the parts of a GPU's work

  void add(const Verdict& v, double share = 1) {
    compile += share * (v.compile_ms - v.plan_ms);
    plan += share * v.plan_ms;
    run += share * v.run_ms;
    check += share * v.check_ms;
    time += share * v.time_ms;
    if (v.time_ms > 0) doubt += share * (v.run_ms - v.check_ms - v.time_ms);
  }
  nlohmann::json json(double over = 1) const {
    return {{"compile", compile / over}, {"plan", plan / over}, {"run", run / over},
            {"check", check / over},     {"time", time / over}, {"doubt", doubt / over}};
  }
};

struct Measured {
  std::vector<double> latency_s;
  std::vector<double> run_ms;  // for candidates that were run
  double seconds = 0;
  std::map<std::string, int64_t> kinds;
  std::vector<nlohmann::json> unexpected;             // candidates that were judged otherwise than expected
  StageTimes ms;                                      // summed
  std::map<std::string, env::ProblemNotes> problems;  // by task, where the judge has opened it
  std::vector<nlohmann::json> long_ones;  // of each, what it was and how long it took where candidates queue
  HostHalfCounts host_halves;
  TreeUsage early, late;  // after a tenth, at the end
  int64_t gpu_early_mib = -1, gpu_late_mib = -1;
};

using Candidates = std::vector<BenchCandidate>;

nlohmann::json long_one(const BenchCandidate& candidate, const Verdict& v) {
  StageTimes ms;
  ms.add(v);
  nlohmann::json line = {{"name", candidate.name},         {"task", candidate.task},
                         {"kind", env::to_string(v.kind)}, {"pairs", v.pairs},
                         {"audited", v.audited},           {"baseline_us", v.baseline_us},
                         {"candidate_us", v.candidate_us}, {"ms", ms.json()}};
  if (v.problem) line["problem"] = *v.problem;
  return line;
}

nlohmann::json unexpected(const BenchCandidate& candidate, const Verdict& v, const std::string& why) {
  return {{"name", candidate.name},
          {"kind", env::to_string(v.kind)},
          {"message", why},
          {"source", candidate.source}};
}

// The ten that kept a GPU, or a core, longest.
nlohmann::json longest(std::vector<nlohmann::json> all) {
  std::ranges::sort(all, std::greater(),
                    [](const auto& one) { return one["ms"]["run"].template get<double>(); });
  all.resize(std::min<size_t>(all.size(), 10));
  return all;
}

// The candidates of a benchmark, and how many of them are submitted at a time.
struct Load {
  Candidates candidates;
  int64_t in_flight = 1;
  bool same_hosts = false;
  std::ostream* log = nullptr;
};

// Adds a comment to the source, which makes it new to the judge's cache. A comment at its end also makes its host half
// new; one in the body of a kernel does not.
std::string renewed(const BenchCandidate& candidate, int64_t number, bool same_host) {
  const std::string& source = candidate.source;
  const size_t kernel = same_host ? source.find("__global__") : std::string::npos;
  const size_t body = kernel == std::string::npos ? kernel : source.find('{', kernel);
  if (body == std::string::npos) return fmt::format("{}\n{} {}\n", source, candidate.comment, number);
  return std::string(source).insert(body + 1, fmt::format("/* {} */", number));
}

// A line for each verdict as it comes, which shows who keeps a judge busy.
void tell(std::ostream* log, nlohmann::json line, const Verdict& v, double at_s, double latency_s) {
  if (log == nullptr) return;
  line["at_s"] = at_s;
  line["latency_s"] = latency_s;
  line["message"] = first_line(v);
  *log << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

// Judges candidates [begin, end), again and again where there are fewer. Once interrupted it is over. The log's clock runs since
// `began_s`.
void judge_range(Judge& judge, const Load& load, int64_t begin, int64_t end, double began_s, Measured& m) {
  struct Sent {
    double at_s;
    const BenchCandidate* candidate;
  };
  std::map<env::Ticket, Sent> sent;
  const double start_s = now_s();
  for (int64_t next = begin; (next < end || !sent.empty()) && !interrupted();) {
    for (; next < end && int64_t(sent.size()) < load.in_flight; ++next) {
      const BenchCandidate& c = load.candidates[size_t(next) % load.candidates.size()];
      sent[judge.submit(c.task, renewed(c, next, load.same_hosts))] = {now_s(), &c};
    }
    for (const env::Judged& judged : judge.poll(std::chrono::milliseconds(1000))) {
      const auto [at_s, candidate] = sent.at(judged.ticket);
      m.latency_s.push_back(now_s() - at_s);
      sent.erase(judged.ticket);
      if (judged.verdict.problem) m.problems.insert_or_assign(candidate->task, *judged.verdict.problem);
      const std::string kind = env::to_string(judged.verdict.kind);
      ++m.kinds[judged.verdict.hack() ? fmt::format("{} ({})", kind, judged.verdict.reason) : kind];
      if (const auto why = candidate->unexpected(judged.verdict))
        m.unexpected.push_back(unexpected(*candidate, judged.verdict, *why));
      m.ms.add(judged.verdict);
      if (judged.verdict.run_ms > 0) m.run_ms.push_back(judged.verdict.run_ms);
      m.long_ones.push_back(long_one(*candidate, judged.verdict));
      tell(load.log, m.long_ones.back(), judged.verdict, now_s() - began_s, m.latency_s.back());
    }
  }
  m.seconds += now_s() - start_s;
}

// Memory in use on the GPUs that this process sees, in MiB, from nvidia-smi; −1 if it reports nothing.
int64_t gpu_memory_mib() {
  std::istringstream said(output_of("nvidia-smi ${CUDA_VISIBLE_DEVICES:+-i \"$CUDA_VISIBLE_DEVICES\"} "
                                    "--query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null")
                              .text);
  int64_t all = -1;
  for (int64_t one = 0; said >> one;) all = std::max<int64_t>(all, 0) + one;
  return all;
}

// The usage of this process and its judge at rest. Lanes prepare their next boxes for a moment after a verdict.
TreeUsage usage_at_rest() {
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return tree_usage();
}

Measured measure(Judge& judge, const Load& load, int64_t count) {
  Measured m;
  const HostHalfCounts before = judge.stats().host_halves;
  const int64_t tenth = std::max<int64_t>(1, count / 10);
  const double began_s = now_s();
  judge_range(judge, load, 0, tenth, began_s, m);
  m.early = usage_at_rest();
  m.gpu_early_mib = gpu_memory_mib();
  judge_range(judge, load, tenth, count, began_s, m);
  m.late = usage_at_rest();
  m.gpu_late_mib = gpu_memory_mib();
  const HostHalfCounts after = judge.stats().host_halves;
  m.host_halves = {after.made - before.made, after.known - before.known};
  return m;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + std::ptrdiff_t(q * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// How many verdicts a second each stage could give alone, and what share of the time it was at work. Where
// there are no GPU tasks a lane does it all.
nlohmann::json stages(const Measured& m, int64_t lanes, int64_t gpus) {
  const auto stage = [&](double ms, int64_t width) {
    return nlohmann::json{{"alone_per_s", ms > 0 ? 1e3 * double(width) * double(m.latency_s.size()) / ms : 0},
                          {"busy", ms / (1e3 * double(width) * m.seconds)}};
  };
  const double prepare_ms = m.ms.compile + m.ms.plan;
  if (gpus == 0) return {{"lanes", stage(prepare_ms + m.ms.run, lanes)}};
  return {{"compile_and_plan", stage(prepare_ms, lanes)}, {"gpu", stage(m.ms.run, gpus)}};
}

// A rate with known host halves is another than one without.
double known_share(const HostHalfCounts& counts) {
  return double(counts.known) / double(std::max<int64_t>(1, counts.made + counts.known));
}

nlohmann::json report(const Measured& m, int64_t lanes, int64_t gpus) {
  const auto usage = [](const TreeUsage& u, int64_t gpu_mib) {
    return nlohmann::json{{"processes", u.processes},
                          {"files", u.files},
                          {"memory_mib", u.memory_bytes >> 20},
                          {"gpu_memory_mib", gpu_mib}};
  };
  const double verdicts = std::max<double>(1, double(m.latency_s.size()));
  return {{"verdicts", m.latency_s.size()},
          {"verdicts_per_s", double(m.latency_s.size()) / m.seconds},
          {"latency_p50_s", quantile(m.latency_s, 0.5)},
          {"latency_p95_s", quantile(m.latency_s, 0.95)},
          {"kinds", m.kinds},
          {"problems", m.problems},
          {"unexpected", m.unexpected},
          {"known_host_halves", known_share(m.host_halves)},
          {"stages", stages(m, lanes, gpus)},
          {"mean_ms", m.ms.json(verdicts)},
          {"run_p50_ms", quantile(m.run_ms, 0.5)},
          {"longest", longest(m.long_ones)},
          {"after_a_tenth", usage(m.early, m.gpu_early_mib)},
          {"at_the_end", usage(m.late, m.gpu_late_mib)}};
}

// Their standard deviation over their mean.
double relative_deviation(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / double(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / double(values.size())) / mean;
}

// How well the speedup of one candidate repeats when it is judged many times.
struct Repeated {
  std::map<std::string, int64_t> kinds;
  std::vector<double> speedups, us, baseline_us, device_us, comparable_us;
  std::vector<std::string> messages;  // of those that do not pass
  std::optional<env::ProblemNotes> problem;
  StageTimes ms;

  void add(const Verdict& verdict, int64_t times) {
    ++kinds[env::to_string(verdict.kind)];
    ms.add(verdict, 1 / double(times));
    if (verdict.problem) problem = verdict.problem;
    if (!verdict.pass()) return messages.push_back(first_line(verdict));
    speedups.push_back(verdict.speedup);
    us.push_back(verdict.candidate_us);
    baseline_us.push_back(verdict.baseline_us);
    if (verdict.profile) device_us.push_back(verdict.profile->device_us);
    if (verdict.comparable) comparable_us.push_back(verdict.comparable->runtime.mean * 1e3);
  }
  nlohmann::json json() const {
    const double middle = quantile(speedups, 0.5);
    nlohmann::json row = {
        {"kinds", kinds},
        {"candidate_us", quantile(us, 0.5)},
        {"device_us", quantile(device_us, 0.5)},
        {"baseline_us", quantile(baseline_us, 0.5)},
        {"speedup", middle},
        {"spread", middle > 0 ? (quantile(speedups, 1) - quantile(speedups, 0)) / middle : 0},
        {"deviation", relative_deviation(speedups)},
        {"mean_ms", ms.json()}};
    if (!messages.empty()) row["messages"] = messages;
    if (problem) row["problem"] = *problem;
    if (!comparable_us.empty()) row["comparable_us"] = quantile(comparable_us, 0.5);
    return row;
  }
};

// Each candidate alone, for the latency, once more, as the cache has it, and the other times together.
nlohmann::json each(Judge& judge, const Candidates& candidates, int64_t times) {
  nlohmann::json rows = nlohmann::json::array();
  const auto bar = progress_bar("candidates", false);
  for (size_t i = 0; i < candidates.size() && !interrupted(); ++i) {
    const BenchCandidate& c = candidates[i];
    const auto source = [&](int64_t k) { return renewed(c, k, false); };
    Repeated repeated;
    const double start_s = now_s();
    const Verdict first = judge.judge(c.task, source(0));
    const double judged_s = now_s();
    judge.judge(c.task, source(0));
    const double cached_s = now_s();
    repeated.add(first, times);
    for (int64_t k = 1; k < times; ++k) judge.submit(c.task, source(k));
    while (judge.pending() > 0)
      for (const env::Judged& judged : judge.poll(std::chrono::milliseconds(1000)))
        repeated.add(judged.verdict, times);
    nlohmann::json row = repeated.json();
    row["name"] = c.name;
    row["task"] = c.task;
    row["latency_s"] = {{"fresh", judged_s - start_s},
                        {"from_cubin", judged_s - start_s - first.compile_ms * 1e-3},
                        {"cached", cached_s - judged_s}};
    rows.push_back(row);
    bar(int64_t(i) + 1, int64_t(candidates.size()));
  }
  return rows;
}

int64_t gpus_of(const RunConfig& config, const std::vector<Task>& tasks) {
  const bool any = std::ranges::any_of(tasks, [](const Task& task) { return task.on_gpu(); });
  return any ? std::max<int64_t>(1, std::ssize(config.env.gpus)) : 0;
}

int bench_judge(const ConfigWords& words, const JudgeBench& bench) {
  RunConfig config = words.read();
  config.env.cache.clear();
  const auto given = bench.folder.empty() ? Candidates() : candidates_of(bench.folder);
  std::vector<Task> tasks = load_tasks(config);
  const auto hostile = bench.hostile.empty() ? Candidates() : candidates_of(bench.hostile);
  if (const auto own = std::filesystem::path(bench.hostile) / "tasks.yaml";
      !hostile.empty() && std::filesystem::exists(own))
    for (Task& task : env::load_tasks(own))
      if (std::ranges::find(tasks, task.name, &Task::name) == tasks.end()) tasks.push_back(std::move(task));
  if (given.empty())
    for (const Task& task : tasks)
      if (task.module)
        throw ConfigError(
            "bench judge: no grammar writes answers to {}, a problem in PyTorch; pass --candidates",
            task.name);
  for (const Candidates* some : {&given, &hostile})
    for (const BenchCandidate& candidate : *some) env::find_task(tasks, candidate.task);
  Judge judge(config.env, tasks);
  const auto candidates =
      with_every_tenth(given.empty() ? trace_candidates(judge, uint64_t(config.run.seed)) : given, hostile);
  if (bench.each > 0) {
    fmt::print("{}\n", each(judge, candidates, bench.each).dump(2));
    return interrupted() ? kExitInterrupted : kExitOk;
  }
  const int64_t gpus = gpus_of(config, tasks);
  std::ofstream log;
  if (!bench.log.empty()) log.open(bench.log);
  if (!log) throw system_error(fmt::format("--log {}", bench.log));
  const Load load{candidates, (gpus > 0 ? 3 : 1) * judge.width(), bench.same_hosts,
                  log.is_open() ? &log : nullptr};
  const Measured m = measure(judge, load, bench.count);
  fmt::print("{}\n", report(m, judge.width(), gpus).dump(2));
  if (!m.unexpected.empty()) return kExitCandidateFailed;
  return interrupted() ? kExitInterrupted : kExitOk;
}

}  // namespace

void add_bench_judge(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand("judge", "verdicts/s on fresh candidates, latency, growth");
  const auto words = std::make_shared<ConfigWords>();
  const auto bench_words = std::make_shared<JudgeBench>();
  declare_overrides(*command, *words);
  command->add_option("--config", words->path, "RUN.yaml")->transform(path_word());
  command->add_option("--count", bench_words->count, "candidates")->check(at_least(1));
  command->add_option("--each", bench_words->each,
                      "instead, judge every candidate this many times, the first time alone, and print how "
                      "well its speedup repeats");
  command
      ->add_option("--candidates", bench_words->folder,
                   "folder of source files, each with a comment 'task: NAME', and with 'expect: KIND' "
                   "where another verdict is a failure, or 'speedup_below: 1.15' where a faster pass is; "
                   "without it, the cold start's, a tenth broken and a tenth wrong")
      ->transform(path_word())
      ->check(CLI::ExistingDirectory);
  command->add_option("--log", bench_words->log, "file that gets a line of JSON for each verdict as it comes")
      ->transform(path_word());
  command->add_flag("--same-hosts", bench_words->same_hosts,
                    "where a candidate comes again, its kernels alone are new: what a judge of CUDA knows of "
                    "host code it knows");
  command
      ->add_option("--hostile", bench_words->hostile,
                   "every tenth candidate is one of this folder's, their tasks those of its tasks.yaml")
      ->transform(path_word())
      ->check(CLI::ExistingDirectory);
  command->callback([=, &exit_code] { exit_code = bench_judge(*words, *bench_words); });
}

}  // namespace temper::trainer
