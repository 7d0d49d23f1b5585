#include "env/judge.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "env/lane.h"
#include "env/languages/language.h"
#include "env/message.h"
#include "env/verdict_cache.h"
#include "env/verdict_journal.h"

namespace temper {
namespace {

constexpr int kMaxAttempts = 2;  // of a candidate whose judging failed for our sake

std::vector<int> allowed_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) throw system_error("read the allowed cores");
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

std::string cpu_model() {
  const std::string info = read_file("/proc/cpuinfo");
  const size_t at = info.find("model name");
  return at == std::string::npos ? "" : info.substr(at, info.find('\n', at) - at);
}

Verdict verdict_of(VerdictKind kind, const std::string& reason) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.reason = reason;
  verdict.message = verdict_message(verdict);
  return verdict;
}

Verdict infra(const std::string& reason) { return verdict_of(VerdictKind::kInfra, scrub(reason)); }

}  // namespace

void JudgeOptions::visit(OptionVisitor& v) {
  v.option("judge", judge,
           {.help = "whose verdicts the policy earns and hears. naive, for ablations: right is one draw within 1e-2, in "
                    "an output that held the right result before, and timed calls are not looked at; figures stay the full "
                    "one's. both: full, with the naive one's word beside it (raw_*, hacks)",
            .choices = {"full", "both", "naive"}});
  v.option("lanes", lanes, {.help = "candidates judged at a time by a rank; 0: one per core, the cores shared by its machine's ranks", .min = 0, .max = 1024});
  v.option("min_sandbox", min_sandbox,
           {.help = "sandbox level below which nothing runs: S2 has namespaces, a private root, limits and a "
                    "system-call filter",
            .choices = {"S2"}});
  v.option("compile_timeout_s", compile_timeout_s,
           {.help = "for compiling one candidate", .unit = "s", .min = 0.1, .max = 600});
  v.option("run_timeout_s", run_timeout_s,
           {.help = "for all calls of one candidate together", .unit = "s", .min = 0.1, .max = 600});
  v.option("memory_mb", memory_mb,
           {.help = "address space of a candidate, and of each compiler pass",
            .unit = "MiB",
            .min = 256,
            .max = 1 << 20});
  v.option("min_pairs", min_pairs,
           {.help = "fewest timed pairs of candidate and baseline", .min = 5, .max = 1000});
  v.option("max_pairs", max_pairs,
           {.help = "most timed pairs of candidate and baseline", .min = 5, .max = 1000});
  v.option("gpus", gpus,
           {.help = "GPUs that judge candidates in CUDA, by number; empty: each rank's own",
            .min = 0,
            .max = 1023});
  v.option("cache", cache, {.help = "file that keeps verdicts between runs; empty: memory only"});
}

struct Judge::Impl {
  struct Job {
    std::string digest;
    LaneRequest request;
    std::vector<Ticket> tickets;
    int attempts = 0;
    std::string prepared = "";  // for a GPU
  };
  using JobRef = std::list<Job>::iterator;

  // Lanes that do the same work, and what waits for them.
  struct Pool {
    std::vector<Lane> lanes;
    std::vector<JobRef> jobs;  // by lane
    std::deque<JobRef> queue;
    bool gpu = false;
    bool dead() const {
      return std::all_of(lanes.begin(), lanes.end(),
                         [](const Lane& l) { return l.state() == Lane::State::kDead; });
    }
  };

  Impl(JudgeOptions options_in, std::vector<Task> tasks_in)
      : options(std::move(options_in)), tasks(std::move(tasks_in)), cache(options.cache) {
    if (options.max_pairs < options.min_pairs)
      throw ConfigError("max_pairs: {} is less than min_pairs, {}", options.max_pairs, options.min_pairs);
    const bool gpu = std::any_of(tasks.begin(), tasks.end(), [](const Task& t) { return t.language == "cuda"; });
    if (gpu && options.judge != "full")
      throw ConfigError("judge: {} is not there for tasks of language cuda; full is", options.judge);
    uint32_t of_gpus = 0;
    for (uint32_t i = 0; i < tasks.size(); ++i) {
      task_index[tasks[i].name] = i;
      task_digest.push_back(tasks[i].digest());
      gpu_index.push_back(tasks[i].language == "cuda" ? of_gpus++ : 0);
    }
    start_lanes();
    machine["cpp"] = cpu_model() + cores.lanes[0].ready().machine + (options.judge == "full" ? "" : options.judge);
    if (!gpus.lanes.empty()) {
      const LaneReady& host = cores.lanes[0].ready();
      machine["cuda"] = gpus.lanes[0].ready().machine + " " + host.cuda_machine;
    }
  }

  void start_lanes() {
    const auto allowed = allowed_cores();
    const size_t count = options.lanes > 0 ? size_t(options.lanes) : allowed.size();
    const double patience_s = 60 + options.compile_timeout_s + 2 * options.run_timeout_s;
    LaneSetup setup{.tasks = tasks,
                    .compile_timeout_s = options.compile_timeout_s,
                    .run_timeout_s = options.run_timeout_s,
                    .memory_mb = options.memory_mb,
                    .min_pairs = options.min_pairs,
                    .max_pairs = options.max_pairs,
                    .naive = options.judge != "full"};
    for (size_t i = 0; i < count; ++i) {
      setup.core = allowed[(size_t(options.first_lane) + i) % allowed.size()];
      cores.lanes.emplace_back(setup, patience_s);
    }
    start_gpus(setup, patience_s);
    for (Pool* pool : {&cores, &gpus}) {
      pool->jobs.resize(pool->lanes.size(), jobs.end());
      for (auto& lane : pool->lanes) lane.finish_start();
    }
  }

  void start_gpus(LaneSetup setup, double patience_s) {
    gpus.gpu = true;
    std::erase_if(setup.tasks, [](const Task& task) { return task.language != "cuda"; });
    if (setup.tasks.empty()) return;
    const std::vector<int64_t> own{options.first_gpu};
    for (const int64_t gpu : options.gpus.empty() ? own : options.gpus) {
      setup.gpu = int(gpu);
      gpus.lanes.emplace_back(setup, patience_s);
    }
  }

  Ticket submit(const std::string& task, const std::string& source) {
    const Ticket ticket = ++last_ticket;
    ++stats.submitted;
    ++waiting;
    const auto index = task_index.find(task);
    TEMPER_CHECK(index != task_index.end(), "task {}", task);
    if (const auto rejection = find_language(tasks[index->second].language).gate(source)) {
      ready.push_back({ticket, verdict_of(rejection->kind, rejection->reason)});
      return ticket;
    }
    const std::string digest =
        sha256(source + '\0' + task_digest[index->second] + machine.at(tasks[index->second].language));
    if (const auto again = journal ? journal->replay(digest) : std::nullopt) {
      keep(digest, *again);
      ready.push_back({ticket, *again});
    } else if (const auto known = cache.find(digest)) {
      ++stats.cached;
      ready.push_back({ticket, *known});
    } else if (const auto running = by_digest.find(digest); running != by_digest.end()) {
      running->second->tickets.push_back(ticket);
    } else {
      jobs.push_back({digest, {index->second, source}, {ticket}});
      by_digest[digest] = std::prev(jobs.end());
      cores.queue.push_back(std::prev(jobs.end()));
      dispatch();
    }
    return ticket;
  }

  void dispatch() {
    for (Pool* pool : {&cores, &gpus}) dispatch(*pool);
  }

  void dispatch(Pool& pool) {
    for (size_t i = 0; i < pool.lanes.size() && !pool.queue.empty(); ++i) {
      if (pool.lanes[i].state() != Lane::State::kIdle) continue;
      const JobRef job = pool.queue.front();
      if (!pool.lanes[i].assign(request_of(*job, pool))) {
        revive(pool, i);
        continue;
      }
      pool.queue.pop_front();
      pool.jobs[i] = job;
    }
  }

  LaneRequest request_of(const Job& job, const Pool& pool) const {
    return pool.gpu ? LaneRequest{gpu_index[job.request.task], job.prepared} : job.request;
  }

  // Waits until a lane has something to say or is overdue.
  void wait(std::chrono::milliseconds timeout) {
    std::vector<pollfd> sockets;
    double until = now_s() + double(timeout.count()) * 1e-3;
    for_each_lane([&](Pool& pool, size_t i) {
      const Lane& lane = pool.lanes[i];
      const bool active = lane.state() == Lane::State::kBusy || lane.state() == Lane::State::kStarting;
      sockets.push_back({active ? lane.socket() : -1, POLLIN, 0});
      if (active) until = std::min(until, lane.deadline_s());
    });
    const double left_s = std::max(0.0, until - now_s());
    ::poll(sockets.data(), sockets.size(), int(left_s * 1e3 + 0.999));
    size_t next = 0;
    for_each_lane([&](Pool& pool, size_t i) {
      const pollfd& socket = sockets[next++];
      if (socket.fd >= 0 && (socket.revents != 0 || now_s() >= pool.lanes[i].deadline_s())) attend(pool, i);
    });
    dispatch();
  }

  void for_each_lane(const std::function<void(Pool&, size_t)>& work) {
    for (Pool* pool : {&cores, &gpus})
      for (size_t i = 0; i < pool->lanes.size(); ++i) work(*pool, i);
  }

  void attend(Pool& pool, size_t i) {
    if (pool.lanes[i].state() == Lane::State::kStarting) {
      try {
        pool.lanes[i].finish_start();
      } catch (const std::exception& e) {
        lane_failed(pool, e.what());
      }
      return;
    }
    const JobRef job = std::exchange(pool.jobs[i], jobs.end());
    auto answer = pool.lanes[i].receive();
    if (!answer) revive(pool, i);
    if (!answer) return finish(job, infra("the broker died or hung"));
    if (answer->prepared.empty()) {
      if (answer->verdict.naive) answer->verdict.naive->binding = options.judge == "naive";
      return finish(job, answer->verdict);
    }
    job->prepared = std::move(answer->prepared);
    gpus.queue.push_back(job);
  }

  void revive(Pool& pool, size_t i) {
    ++stats.restarts;
    try {
      pool.lanes[i].restart();
    } catch (const std::exception& e) {
      lane_failed(pool, e.what());
    }
  }

  // A lane that cannot be started again stays dead; with none left, nothing can be judged.
  void lane_failed(Pool& pool, const std::string& why) {
    if (!pool.dead()) return;
    while (!pool.queue.empty()) {
      pool.queue.front()->attempts = kMaxAttempts;
      const JobRef job = pool.queue.front();
      pool.queue.pop_front();
      finish(job, infra(why));
    }
  }

  void finish(JobRef job, const Verdict& verdict) {
    if (verdict.infra() && ++job->attempts < kMaxAttempts) {
      (job->prepared.empty() ? cores : gpus).queue.push_back(job);
      return;
    }
    stats.infra += verdict.infra();
    stats.compile_s += verdict.compile_ms * 1e-3;
    stats.run_s += verdict.run_ms * 1e-3;
    if (!verdict.infra()) keep(job->digest, verdict);
    for (size_t i = 0; i < job->tickets.size(); ++i) {
      ready.push_back({job->tickets[i], verdict});
      ready.back().verdict.cached = i > 0;
      stats.cached += i > 0;
    }
    by_digest.erase(job->digest);
    jobs.erase(job);
  }

  void keep(const std::string& digest, const Verdict& verdict) {
    cache.add(digest, verdict);
    if (journal) journal->add(digest, verdict);
  }

  JudgeOptions options;
  std::vector<Task> tasks;
  std::vector<std::string> task_digest;
  std::unordered_map<std::string, uint32_t> task_index;
  std::vector<uint32_t> gpu_index;             // by task: its number among those for GPUs
  std::map<std::string, std::string> machine;  // by language
  VerdictCache cache;
  std::optional<VerdictJournal> journal;
  std::list<Job> jobs;
  std::unordered_map<std::string, JobRef> by_digest;
  Pool cores, gpus;
  std::deque<Judged> ready;
  Ticket last_ticket = 0;
  size_t waiting = 0;
  JudgeStats stats;
};

Judge::Judge(JudgeOptions options, std::vector<Task> tasks)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(tasks))) {}
Judge::~Judge() = default;

const std::vector<Task>& Judge::tasks() const { return impl_->tasks; }
std::string Judge::sandbox_level() const { return impl_->cores.lanes[0].ready().level; }
size_t Judge::pending() const { return impl_->waiting; }
JudgeStats Judge::stats() const { return impl_->stats; }

Ticket Judge::submit(const std::string& task, const std::string& source) {
  return impl_->submit(task, source);
}

void Judge::keep_journal(const std::filesystem::path& file, uint64_t known_bytes) {
  impl_->journal.emplace(file, known_bytes, [this](const std::string& digest, const Verdict& verdict) {
    if (!impl_->cache.find(digest)) impl_->cache.add(digest, verdict);
  });
}

std::vector<Judged> Judge::poll(std::chrono::milliseconds wait) {
  const double until = now_s() + double(wait.count()) * 1e-3;
  impl_->wait(std::chrono::milliseconds(0));
  while (impl_->ready.empty() && impl_->waiting > 0 && now_s() < until)
    impl_->wait(std::chrono::milliseconds(int64_t(std::max(1.0, (until - now_s()) * 1e3))));
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
    impl_->wait(std::chrono::seconds(1));
  }
}

}  // namespace temper
