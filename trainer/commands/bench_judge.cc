#include "trainer/commands/bench_judge.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "env/answer.h"
#include "rollout/traces.h"
#include "trainer/commands/commands.h"
#include "trainer/console.h"
#include "trainer/interrupted.h"
#include "trainer/process_tree.h"

namespace temper {
namespace {

constexpr int64_t kConversations = 64;

struct Candidate {
  std::string task, source;
};

struct Measured {
  std::vector<double> latency_s;
  double seconds = 0;
  std::map<std::string, int64_t> kinds;
  double compile_ms = 0, check_ms = 0, run_ms = 0;  // summed
  TreeUsage early, late;                            // after a tenth, at the end
};

std::vector<Candidate> trace_candidates(Judge& judge, uint64_t seed) {
  std::vector<Candidate> candidates;
  for (const Trace& trace : make_traces({.conversations = kConversations, .generated = 0}, judge, seed,
                                        progress_bar("candidates", false)))
    for (const TraceTurn& turn : trace.turns)
      if (const Answer answer = extract_code(turn.answer); answer.ok)
        candidates.push_back({trace.task, answer.code});
  throw_if_interrupted();
  if (candidates.empty()) throw WorldError("bench judge: no trace passed the judge");
  return candidates;
}

// Source files with a line `// task: NAME` each.
std::vector<Candidate> candidates_of(const std::filesystem::path& folder) {
  constexpr std::string_view kMark = "// task: ";
  std::vector<Candidate> candidates;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string source = read_file(entry.path());
    const size_t mark = source.find(kMark);
    if (mark == std::string::npos) continue;
    const size_t begin = mark + kMark.size();
    candidates.push_back({source.substr(begin, source.find_first_of("\r\n", begin) - begin), source});
  }
  std::ranges::sort(candidates, {}, &Candidate::source);
  if (candidates.empty())
    throw ConfigError("--candidates {}: no file with a line '// task: NAME'", folder.string());
  return candidates;
}

// Judges candidates [begin, end), keeping `in_flight` of them at the judge; a comment makes each one new to
// its cache.
void judge_range(Judge& judge, const std::vector<Candidate>& candidates, int64_t begin, int64_t end,
                 int64_t in_flight, Measured& m) {
  std::map<Ticket, double> sent;
  const double start_s = now_s();
  for (int64_t next = begin; (next < end && !interrupted()) || !sent.empty();) {
    for (; next < end && !interrupted() && int64_t(sent.size()) < in_flight; ++next) {
      const Candidate& c = candidates[size_t(next) % candidates.size()];
      sent[judge.submit(c.task, fmt::format("{}\n// {}\n", c.source, next))] = now_s();
    }
    for (const Judged& judged : judge.poll(std::chrono::milliseconds(1000))) {
      m.latency_s.push_back(now_s() - sent.at(judged.ticket));
      sent.erase(judged.ticket);
      ++m.kinds[to_string(judged.verdict.kind)];
      m.compile_ms += judged.verdict.compile_ms;
      m.check_ms += judged.verdict.check_ms;
      m.run_ms += judged.verdict.run_ms;
    }
  }
  m.seconds += now_s() - start_s;
}

// Of this process and its judge at rest: the lanes prepare their next boxes for a moment after a verdict.
TreeUsage usage_at_rest() {
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return tree_usage();
}

Measured measure(Judge& judge, const std::vector<Candidate>& candidates, int64_t count, int64_t in_flight) {
  Measured m;
  const int64_t tenth = std::max<int64_t>(1, count / 10);
  judge_range(judge, candidates, 0, tenth, in_flight, m);
  m.early = usage_at_rest();
  judge_range(judge, candidates, tenth, count, in_flight, m);
  m.late = usage_at_rest();
  return m;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + std::ptrdiff_t(q * double(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

nlohmann::json report(const Measured& m) {
  const auto usage = [](const TreeUsage& u) {
    return nlohmann::json{
        {"processes", u.processes}, {"files", u.files}, {"memory_mib", u.memory_bytes >> 20}};
  };
  const double verdicts = std::max<double>(1, double(m.latency_s.size()));
  return {{"verdicts", m.latency_s.size()},
          {"verdicts_per_s", double(m.latency_s.size()) / m.seconds},
          {"latency_p50_s", quantile(m.latency_s, 0.5)},
          {"latency_p95_s", quantile(m.latency_s, 0.95)},
          {"kinds", m.kinds},
          {"mean_ms",
           {{"compile", m.compile_ms / verdicts},
            {"run", m.run_ms / verdicts},
            {"check", m.check_ms / verdicts}}},
          {"after_a_tenth", usage(m.early)},
          {"at_the_end", usage(m.late)}};
}

void check_tasks_of(const std::vector<Candidate>& candidates, const std::vector<Task>& tasks) {
  for (const Candidate& candidate : candidates) find_task(tasks, candidate.task);
}

int bench_judge(const ConfigWords& words, int64_t count, const std::string& folder) {
  RunConfig config = words.read();
  config.env.cache.clear();
  const auto given = folder.empty() ? std::vector<Candidate>() : candidates_of(folder);
  check_tasks_of(given, load_tasks(config));
  Judge judge(config.env, load_tasks(config));
  const int64_t lanes =
      config.env.lanes > 0 ? config.env.lanes : int64_t(std::thread::hardware_concurrency());
  const auto candidates = given.empty() ? trace_candidates(judge, uint64_t(config.run.seed)) : given;
  fmt::print("{}\n", report(measure(judge, candidates, count, lanes)).dump(2));
  return interrupted() ? kExitInterrupted : kExitOk;
}

}  // namespace

void add_bench_judge(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand("judge", "verdicts/s on fresh candidates, latency, growth");
  const auto words = std::make_shared<ConfigWords>();
  const auto count = std::make_shared<int64_t>(200);
  const auto folder = std::make_shared<std::string>();
  declare_overrides(*command, *words);
  command->add_option("--config", words->path, "RUN.yaml");
  command->add_option("--count", *count, "candidates")->check(CLI::PositiveNumber);
  command
      ->add_option("--candidates", *folder,
                   "folder of source files, each with a line '// task: NAME'; without it, the cold start's")
      ->check(CLI::ExistingDirectory);
  command->callback([=, &exit_code] { exit_code = bench_judge(*words, *count, *folder); });
}

}  // namespace temper
