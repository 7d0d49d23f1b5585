#include "env/judge/judge.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "env/judge/judge_backend.h"
#include "env/languages/language.h"
#include "env/verdict/compiled_baselines.h"
#include "env/verdict/known_notes.h"
#include "env/verdict/message.h"
#include "env/verdict/problem_sizes.h"
#include "env/verdict/source_gate.h"
#include "env/verdict/verdict_cache.h"
#include "env/verdict/verdict_journal.h"

namespace temper::env {

namespace {

constexpr double kLook_s = 0.25;  // then interrupted() is looked at again

}  // namespace

void JudgeOptions::visit(OptionVisitor& v) {
  v.option("judge", judge,
           {.help = "judge whose verdicts decide the policy's reward and feedback. full: the judge "
                    "with all its checks. naive, for ablations: accepts one draw within 1e-2, in "
                    "memory that held the right result before, and does not check timed calls; "
                    "metrics still follow the full judge. both: full, and also records the naive "
                    "verdict (raw_*, hacks)",
            .choices = {"full", "both", "naive"}});
  v.option("lanes", lanes,
           {.help = "number of candidates that a rank judges at a time; 0 for one per core, with "
                    "the machine's cores shared by its ranks",
            .min = 0,
            .max = 1024,
            .may_change = true});
  v.option("min_sandbox", min_sandbox,
           {.help = "lowest sandbox level at which candidates may run; S2 has namespaces, a private "
                    "root, limits and a system-call filter",
            .choices = {"S2"}});
  v.option("compile_timeout_s", compile_timeout_s,
           {.help = "time limit for compiling one candidate", .unit = "s", .min = 0.1, .max = 600});
  v.option("run_timeout_s", run_timeout_s,
           {.help = "time limit for all calls of one candidate together; each further timed shape has as "
                    "much again",
            .unit = "s",
            .min = 0.1,
            .max = 600});
  v.option("module_timeout_s", module_timeout_s,
           {.help = "time limit for one candidate that is a module of PyTorch: importing and building it, "
                    "what Triton compiles then, and all calls together",
            .unit = "s",
            .min = 1,
            .max = 3600});
  v.option(
      "module_warm_up_s", module_warm_up_s,
      {.help = "time limit for each step in which a module of PyTorch may compile and tune: importing and "
               "building it, and its first call of forward. Another call may take 100 times as long as the "
               "reference's, and at least 5 s",
       .unit = "s",
       .min = 1,
       .max = 3600});
  v.option("memory_mb", memory_mb,
           {.help = "limit of the address space of a candidate and of each compiler pass",
            .unit = "MiB",
            .min = 256,
            .max = 1 << 20});
  v.option("min_pairs", min_pairs,
           {.help = "fewest timed pairs of candidate and baseline", .min = 5, .max = 1000});
  v.option("max_pairs", max_pairs,
           {.help = "most timed pairs of candidate and baseline", .min = 5, .max = 1000});
  v.option("gpus", gpus,
           {.help = "numbers of the GPUs that judge candidates in CUDA; if empty, each rank uses "
                    "its own",
            .min = 0,
            .max = 1023,
            .may_change = true});
  v.option(
      "python", python,
      {.help = "Python that runs candidates in Triton, with torch and triton 3.6; if empty, the one in "
               "TEMPER_PYTHON, else that of .deps/venv beside the build or python3; one without torch takes "
               "that of the program",
       .text = TextKind::kPath,
       .may_change = true});
  v.option(
      "compare_refused", compare_refused,
      {.help = "run modules of PyTorch that are refused for their imports all the same, for the comparable "
               "verdict alone; this takes GPU time. temper eval and temper judge always do"});
  v.option("compared", compared,
           {.help = "share of answers to training tasks that are judged as KernelBench judges them, too, "
                    "where they are modules of "
                    "PyTorch. It draws inputs on the host and calls a hundred times, which takes longer than "
                    "the rest. Evaluations "
                    "compare all answers",
            .min = 0,
            .max = 1});
  v.option("believe_shares", believe_shares,
           {.help = "take a PyTorch module's own word for the share of GPU time in its kernels, for rewards "
                    "and rejection that "
                    "use it. A module can forge that word, so that by default its share is unknown"});
  v.option("module_lanes", module_lanes,
           {.help = "modules of PyTorch that are judged at a time on one GPU; calls are timed one candidate "
                    "after another. Each holds "
                    "its problem in memory. If 0, one for two cores, but at most 4, and in training as many "
                    "as fit beside the policy",
            .min = 0,
            .max = 32,
            .may_change = true});
  v.option("gpu_far_inputs", gpu_far_inputs,
           {.help = "test candidates in CUDA on unusual inputs (spikes, offsets, equal indices and "
                    "others), as candidates in C++ always are. Without them fewer short-cuts are found, "
                    "and a verdict takes less GPU time"});
  v.option("again", again,
           {.help = "share of new PASSes that are judged a second time with other keys before they "
                    "are reported. If the second verdict is not a PASS, it replaces the first, also "
                    "for the reward (env/overturned)",
            .min = 0,
            .max = 1});
  v.option("cache", cache,
           {.help = "SQLite database that keeps verdicts between runs and is shared by ranks, "
                    "sweeps and other runs of a machine; if empty, verdicts are kept in memory",
            .text = TextKind::kPath,
            .may_change = true});
  v.option(
      "huggingface", huggingface,
      {.help = "cache of Hugging Face, a folder as HF_HOME names it, which problems in PyTorch may read; "
               "nothing is ever fetched. If empty, problems that need files of the Hub are left out",
       .text = TextKind::kPath,
       .may_change = true});
  v.option("compiled_baselines", compiled_baselines,
           {.help = "file written by tools/compiled_baselines; verdicts on a GPU that it covers "
                    "also contain the speedup against torch.compile",
            .text = TextKind::kPath});
}

struct Judge::Impl {
  // One candidate, with all tickets that were submitted for it.
  struct Job {
    std::vector<std::string> digests;  // by machine
    uint32_t task;
    std::vector<Ticket> tickets;
    std::string source;
    std::optional<Verdict> first = {};  // where it is judged once more
  };

  Impl(JudgeOptions options_in, std::vector<Task> tasks_in, std::unique_ptr<JudgeBackend> workers_in)
      : options(std::move(options_in)),
        tasks(std::move(tasks_in)),
        cache(options.cache),
        notes(problem_sizes_file(options.cache)),
        baselines(options.compiled_baselines),
        workers(std::move(workers_in)) {
    if (options.max_pairs < options.min_pairs)
      throw ConfigError("max_pairs: {} is less than min_pairs, {}", options.max_pairs, options.min_pairs);
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      task_index[tasks[i].name] = i;
      task_digest.push_back(tasks[i].digest());
    }
    if (!workers)
      workers = options.servers.empty() ? make_lanes(options, tasks) : make_remote_backend(options, tasks);
  }

  Ticket submit(const std::string& task, const std::string& source) {
    const Ticket ticket = ++last_ticket;
    ++stats.submitted;
    ++waiting;
    const auto index = task_index.find(task);
    TEMPER_CHECK(index != task_index.end(), "task {}", task);
    const std::string& language = tasks[index->second].language;
    if (const auto rejection = gate_source(find_language(language), source)) {
      ready.push_back({ticket, verdict_of(*rejection)});
      return ticket;
    }
    const std::vector<std::string> digests = digests_of(index->second, source);
    if (is_known(ticket, index->second, digests)) return ticket;
    if (const auto running = by_digest.find(digests[0]); running != by_digest.end()) {
      jobs.at(running->second).tickets.push_back(ticket);
    } else {
      jobs[ticket] = {digests, index->second, {ticket}, source};
      by_digest[digests[0]] = ticket;
      if (journal && journal->ask(digests[0])) anew.push_back(task);
      workers->submit({ticket, index->second, source});
    }
    return ticket;
  }

  // One for each machine that may judge the candidate: times of one are not those of another.
  std::vector<std::string> digests_of(uint32_t task, const std::string& source) const {
    std::vector<std::string> digests;
    for (const std::string& machine : workers->machines(tasks[task].language))
      digests.push_back(sha256(source + '\0' + task_digest[task] + machine));
    return digests;
  }

  // Answers from the journal or the cache if any of the machines has judged the candidate before.
  bool is_known(Ticket ticket, uint32_t task, const std::vector<std::string>& digests) {
    for (const std::string& digest : digests)
      if (const auto again = journal ? journal->replay(digest) : std::nullopt) {
        keep(digest, digests[0], *again);
        ready.push_back({ticket, *again});
        return true;
      }
    for (const std::string& digest : digests)
      if (const auto known = cache.find(digest); known && !lacks_comparable(task, *known)) {
        ++stats.cached;
        ready.push_back({ticket, weighed(task, *known)});
        return true;
      }
    return false;
  }

  // Whether the cached verdict is one that training gave to a module, without the comparable verdict that is asked for.
  bool lacks_comparable(uint32_t task, const Verdict& verdict) const {
    if (!tasks[task].module || verdict.comparable) return false;
    if (verdict.kind == VerdictKind::kRejectPolicy) return options.compare_refused;
    return options.compared >= 1 || tasks[task].split != "train";
  }

  void wait(double until_s) {
    for (const WorkDone& done : workers->wait(until_s)) finish(done.id, done.verdict, done.machine);
  }

  void finish(Ticket id, const Verdict& found, size_t machine) {
    const auto job = jobs.find(id);
    if (job == jobs.end()) return;  // a worker sent it twice
    const Verdict fresh = sound(weighed(job->second.task, sound(found)));
    stats.infra += fresh.infra();
    stats.compile_s += fresh.compile_ms * 1e-3;
    stats.run_s += fresh.run_ms * 1e-3;
    if (is_due_again(job->second, fresh)) {
      job->second.first = fresh;
      workers->submit({id, job->second.task, job->second.source});
      return;
    }
    if (fresh.problem) notes.add(tasks[job->second.task], *fresh.problem);
    const Verdict verdict = settled(job->second, fresh);
    const auto& digests = job->second.digests;
    if (!verdict.infra()) keep(digests.at(machine), digests[0], verdict);
    const auto& tickets = job->second.tickets;
    for (size_t i = 0; i < tickets.size(); ++i) {
      ready.push_back({tickets[i], verdict});
      ready.back().verdict.cached = i > 0;
      stats.cached += i > 0;
    }
    by_digest.erase(digests[0]);
    jobs.erase(job);
  }

  // Which ones is chosen by digest: a run that is resumed chooses the same, and no candidate knows its own.
  // Judges elsewhere choose for themselves.
  bool is_due_again(const Job& job, const Verdict& verdict) const {
    if (!verdict.pass() || job.first || !options.servers.empty()) return false;
    constexpr double kAll = 4294967296.0;
    return double(std::stoul(job.digests[0].substr(0, 8), nullptr, 16)) < options.again * kAll;
  }

  // The verdict that counts if there are two. If the second judging failed for our own fault, the first one counts.
  Verdict settled(const Job& job, const Verdict& fresh) {
    if (!job.first) return fresh;
    ++stats.again;
    Verdict verdict = fresh.pass() || fresh.infra() ? *job.first : fresh;
    verdict.judged_again = true;
    verdict.overturned = !verdict.pass();
    stats.overturned += verdict.overturned;
    return verdict;
  }

  // Sets speedup_compiled from the present file of baselines, whatever a cache or another judge had. Verdicts that are
  // replayed from the journal do not come here and stay as they were.
  Verdict weighed(uint32_t task, Verdict verdict) const {
    const auto compiled = baselines.speedup(task_digest[task], verdict);
    if (compiled == verdict.speedup_compiled) return verdict;
    verdict.speedup_compiled = compiled;
    if (verdict.pass()) verdict.message = verdict_message(verdict);
    return verdict;
  }

  void keep(const std::string& digest, const std::string& asked, const Verdict& verdict) {
    cache.add(digest, verdict);
    if (journal) journal->add(digest, verdict, asked);
  }

  JudgeOptions options;
  std::vector<Task> tasks;
  std::vector<std::string> task_digest;
  std::unordered_map<std::string, uint32_t> task_index;
  VerdictCache cache;
  KnownNotes notes;
  CompiledBaselines baselines;
  std::optional<VerdictJournal> journal;
  std::vector<std::string> anew;  // tasks
  std::unique_ptr<JudgeBackend> workers;
  std::unordered_map<Ticket, Job> jobs;  // by the first ticket
  std::unordered_map<std::string, Ticket> by_digest;
  std::deque<Judged> ready;
  Ticket last_ticket = 0;
  size_t waiting = 0;
  JudgeStats stats;
};

Judge::Judge(JudgeOptions options, std::vector<Task> tasks)
    : Judge(std::move(options), std::move(tasks), nullptr) {}
Judge::Judge(JudgeOptions options, std::vector<Task> tasks, std::unique_ptr<JudgeBackend> workers)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(tasks), std::move(workers))) {}
Judge::~Judge() = default;

const std::vector<Task>& Judge::tasks() const { return impl_->tasks; }
std::string Judge::sandbox_level() const { return impl_->workers->sandbox_level(); }
std::string Judge::machine(const std::string& language) const { return impl_->workers->machine(language); }
std::vector<std::string> Judge::notes() const { return impl_->workers->notes(); }
int64_t Judge::width() const { return impl_->workers->width(); }
size_t Judge::pending() const { return impl_->waiting; }
JudgeStats Judge::stats() const {
  JudgeStats stats = impl_->stats;
  stats.restarts = impl_->workers->restarts();
  stats.host_halves = impl_->workers->host_halves();
  return stats;
}

bool Judge::judges_on_own_gpu() const { return impl_->workers->judges_on(impl_->options.first_gpu); }

std::shared_ptr<void> Judge::hold_own_gpu(const std::function<bool()>& give_up) {
  return impl_->workers->hold_gpu(impl_->options.first_gpu, give_up);
}

Ticket Judge::submit(const std::string& task, const std::string& source) {
  return impl_->submit(task, source);
}

void Judge::keep_journal(const std::filesystem::path& file, uint64_t known_bytes) {
  impl_->journal.emplace(file, known_bytes, [this](const std::string& digest, const Verdict& verdict) {
    if (!impl_->cache.find(digest)) impl_->cache.add(digest, verdict);
  });
}

std::vector<std::string> Judge::measured_anew() { return std::exchange(impl_->anew, {}); }

std::vector<Judged> Judge::poll(std::chrono::milliseconds wait) {
  const double until = now_s() + double(wait.count()) * 1e-3;
  impl_->wait(0);
  while (impl_->ready.empty() && impl_->waiting > 0 && now_s() < until) impl_->wait(until);
  std::vector<Judged> verdicts(impl_->ready.begin(), impl_->ready.end());
  impl_->ready.clear();
  impl_->waiting -= verdicts.size();
  return verdicts;
}

Verdict Judge::judge(const std::string& task, const std::string& source) {
  const Ticket ticket = submit(task, source);
  auto& ready = impl_->ready;
  for (;;) {
    const auto mine =
        std::find_if(ready.begin(), ready.end(), [&](const Judged& j) { return j.ticket == ticket; });
    if (mine != ready.end()) {
      const Verdict verdict = mine->verdict;
      ready.erase(mine);
      --impl_->waiting;
      return verdict;
    }
    if (interrupted()) throw WorldError("interrupted before there was a verdict");
    impl_->wait(now_s() + kLook_s);
  }
}

}  // namespace temper::env
