#include <poll.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/machine/cores.h"
#include "base/machine/lease.h"
#include "base/machine/scratch_folder.h"
#include "env/judge/broker_client.h"
#include "env/judge/judge_backend.h"
#include "env/languages/language.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

constexpr int kMaxAttempts = 2;  // attempts for a candidate whose judging failed by our own fault
// So many consecutive failures of our own, of so many tasks or of all that were submitted, end the run, because it
// would learn nothing.
constexpr int64_t kMaxInfra = 64;
constexpr size_t kInfraTasks = 3;
constexpr double kSayWaits_s = 5;
constexpr double kStartLook_s = 0.1;  // at the start; then interrupted() is looked at again
constexpr int64_t kHostHalves_bytes = 64 << 20;

std::string cpu_model() {
  const std::string info = read_file("/proc/cpuinfo");
  const size_t at = info.find("model name");
  return at == std::string::npos ? "" : info.substr(at, info.find('\n', at) - at);
}

// Every candidate goes first to a lane on a core. A candidate for a GPU is compiled and planned there and then goes to
// the lane of a GPU. Its compiled host half is passed along with later candidates that have the same host text.
class Lanes : public JudgeBackend {
 public:
  Lanes(const JudgeOptions& options, const std::vector<Task>& tasks)
      : options_(options), tasks_(tasks), cpu_(cpu_model()) {
    uint32_t of_gpus = 0;
    for (const Task& task : tasks) gpu_index_.push_back(task.on_gpu() ? of_gpus++ : 0);
    modules_ = std::ranges::any_of(tasks, [](const Task& task) { return task.module.has_value(); });
    start(tasks);
  }

  std::string sandbox_level() const override { return cores_.lanes[0].ready().level; }

  std::string machine(const std::string& language) const override {
    const LaneReady& host = cores_.lanes[0].ready();
    const std::string asked = options_.judge == "full" ? "" : options_.judge;
    if (find_language(language).on_gpu)
      return gpus_.lanes[0].ready().machine + " " + host.gpu_compilers.at(language) + asked;
    return cpu_ + host.machine + asked;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    for (const Pool* pool : {&cores_, &gpus_})
      for (const BrokerClient& lane : pool->lanes)
        notes.insert(notes.end(), lane.ready().notes.begin(), lane.ready().notes.end());
    return notes;
  }

  int64_t width() const override { return std::ssize(cores_.lanes); }

  void submit(WorkOrder order) override {
    const Task& task = tasks_[order.task];
    asked_.insert(order.task);
    const Language& language = find_language(task.language);
    std::string host;
    if (language.host_text)
      host = sha256(language.host_text(language.translation_unit(task.parameters(), order.source)));
    jobs_.push_back({.order = std::move(order), .host = std::move(host)});
    cores_.queue.push_back(std::prev(jobs_.end()));
    dispatch();
  }

  // Waits until a lane has sent something, or is due.
  std::vector<WorkDone> wait(double until_s) override {
    look(done_.empty() ? until_s : 0);
    dispatch();
    for (const Pool* pool : {&cores_, &gpus_})
      if (pool->given_up()) throw WorldError("no judge is left: {}", pool->last_words());
    if (infra_.in_a_row >= kMaxInfra && infra_.tasks.size() >= std::min(kInfraTasks, asked_.size()))
      throw WorldError("none of the last {} candidates could be judged: {}", infra_.in_a_row, infra_.words);
    return std::exchange(done_, {});
  }

  int64_t restarts() const override { return restarts_; }
  HostHalfCounts host_halves() const override { return host_counts_; }

  bool judges_on(int64_t gpu) const override { return std::ranges::count(gpu_numbers_, gpu) > 0; }

  std::shared_ptr<void> hold_gpu(int64_t gpu, const std::function<bool()>& give_up) override {
    const auto place = std::ranges::find(gpu_numbers_, gpu);
    if (place == gpu_numbers_.end()) return nullptr;
    const auto lane = size_t(place - gpu_numbers_.begin());
    Fd free = lease(gpus_.lanes[lane].ready().gpu_uuid, give_up);  // after the candidates that are on it
    if (!free) return nullptr;
    auto lock = std::make_unique<Fd>(std::move(free));
    hold_lanes(gpu, true);
    return std::shared_ptr<void>(lock.release(), [this, gpu](void* held) {
      delete static_cast<Fd*>(held);
      hold_lanes(gpu, false);
    });
  }

 private:
  struct Job {
    WorkOrder order;
    std::string host = "";  // digest of its host text, of CUDA
    int attempts = 0;
    std::string prepared = "";  // for a GPU
    int passed = 0;             // how often a younger one was taken
  };
  using JobRef = std::list<Job>::iterator;

  // Lanes that do the same work, and what waits for them.
  struct Pool {
    std::vector<BrokerClient> lanes;
    std::vector<JobRef> jobs;       // by lane
    std::vector<bool> held;         // by lane: gets no candidates for now
    std::vector<bool> jobs_made;    // by lane: it has had a job
    std::vector<uint32_t> at_hand;  // by lane: the task of its last job
    std::deque<JobRef> queue;
    bool gpu = false;
    bool dead() const { return !lanes.empty() && std::ranges::none_of(lanes, &BrokerClient::lives); }
    bool given_up() const { return !lanes.empty() && std::ranges::all_of(lanes, &BrokerClient::given_up); }
    const std::string& last_words() const { return lanes.back().last_words(); }
  };

  void hold_lanes(int64_t gpu, bool held) {
    for (size_t i = 0; i < gpu_numbers_.size(); ++i)
      if (gpu_numbers_[i] == gpu) gpus_.held[i] = held;
  }

  // Candidates in a row that could not be judged by lanes that live.
  struct Infra {
    int64_t in_a_row = 0;
    std::set<uint32_t> tasks = {};
    std::string words = {};
  };

  void start(const std::vector<Task>& tasks) {
    const auto allowed = allowed_cores();
    const auto count = size_t(options_.lanes > 0 ? options_.lanes : allowed_core_count());
    const BrokerClientOptions lane{
        .program = options_.broker,
        .patience_s = options_.patience_s + options_.compile_timeout_s + 2 * run_timeout_s(tasks),
        .restart_s = options_.restart_s};
    LaneSetup setup{.tasks = tasks,
                    .compile_timeout_s = options_.compile_timeout_s,
                    .run_timeout_s = options_.run_timeout_s,
                    .module_timeout_s = options_.module_timeout_s,
                    .module_warm_up_s = options_.module_warm_up_s,
                    .memory_mb = options_.memory_mb,
                    .min_pairs = options_.min_pairs,
                    .max_pairs = options_.max_pairs,
                    .naive = options_.judge != "full",
                    .compare_refused = options_.compare_refused,
                    .compared = options_.compared,
                    .believe_shares = options_.believe_shares,
                    .gpu_far_inputs = options_.gpu_far_inputs,
                    .python = options_.python,
                    .huggingface = options_.huggingface};
    start_gpus(setup, lane);
    // Plans are made for the GPU that was found. All GPUs of a judge are assumed to be of one model.
    if (!gpus_.lanes.empty()) {
      setup.gpu_target = gpus_.lanes[0].ready().gpu_target;
      setup.headers = folder_for_headers();
    }
    for (size_t i = 0; i < count; ++i) {
      setup.core = allowed[(size_t(options_.first_lane) + i) % allowed.size()];
      cores_.lanes.emplace_back(setup, lane);
    }
    finish_start(cores_);
  }

  // Of a candidate. Where problems are modules, one may have to be loaded first, which draws gigabytes of random numbers.
  double run_timeout_s(const std::vector<Task>& tasks) const {
    constexpr double kLoadModule_s = 600;
    const double all_shapes_s = double(2 * most_timed(tasks) - 1) * options_.run_timeout_s;
    return modules_ ? std::max(options_.module_timeout_s + kLoadModule_s / 2, all_shapes_s) : all_shapes_s;
  }

  // Errors: as the first lane's that does not start; WorldError once interrupted().
  void finish_start(Pool& pool) {
    pool.jobs.resize(pool.lanes.size(), jobs_.end());
    pool.held.resize(pool.lanes.size());
    pool.at_hand.resize(pool.lanes.size());
    pool.jobs_made.resize(pool.lanes.size());
    const auto starts = [](const BrokerClient& lane) {
      return lane.state() == BrokerClient::State::kStarting;
    };
    for (;;) {
      const auto dead =
          std::ranges::find_if(pool.lanes, [](const BrokerClient& lane) { return !lane.lives(); });
      if (dead != pool.lanes.end() && dead->user_error()) throw ConfigError("{}", dead->last_words());
      if (dead != pool.lanes.end()) throw WorldError("{}", dead->last_words());
      if (std::ranges::none_of(pool.lanes, starts)) return;
      if (interrupted()) throw WorldError("interrupted while the judge started");
      look(now_s() + kStartLook_s);
    }
  }

  // Nowhere to keep them: candidates are compiled without.
  std::string folder_for_headers() {
    try {
      return headers_.emplace("headers").path();
    } catch (const std::exception&) {
      return "";
    }
  }

  void start_gpus(LaneSetup setup, const BrokerClientOptions& lane) {
    gpus_.gpu = true;
    std::erase_if(setup.tasks, [](const Task& task) { return !task.on_gpu(); });
    if (setup.tasks.empty()) return;
    const auto gpus = options_.gpus.empty() ? std::vector<int64_t>{options_.first_gpu} : options_.gpus;
    const int64_t of_each = modules_ ? module_lanes(options_, std::ssize(gpus)) : 1;
    setup.gpu_lanes = of_each;
    setup.gpu_bytes = options_.module_bytes;
    for (int64_t i = 0; i < of_each; ++i)
      for (const int64_t gpu : gpus) {
        setup.gpu = int(gpu);
        gpus_.lanes.emplace_back(setup, lane);
        gpu_numbers_.push_back(gpu);
      }
    finish_start(gpus_);
  }

  void dispatch() {
    for (Pool* pool : {&cores_, &gpus_}) dispatch(*pool);
  }

  // If all lanes are dead, waiting candidates are answered at once, and not only when a lane is alive again.
  void dispatch(Pool& pool) {
    while (pool.dead() && !pool.queue.empty()) {
      const JobRef job = pool.queue.front();
      pool.queue.pop_front();
      end(job, infra(pool.last_words()));
    }
    for (size_t i = 0; i < pool.lanes.size() && !pool.queue.empty(); ++i) {
      if (pool.lanes[i].state() != BrokerClient::State::kIdle || pool.held[i]) continue;
      const auto next = pool.gpu ? next_for_gpu(pool, i) : next_for_core(pool);
      pool.jobs[i] = *next;
      pool.at_hand[i] = pool.jobs[i]->order.task;
      pool.jobs_made[i] = true;
      pool.queue.erase(next);
      pool.lanes[i].assign(request_of(*pool.jobs[i], pool));
    }
  }

  // The oldest job whose host half no lane is compiling now; by the turn of the others that half will be
  // cached. If there is no such job, the oldest one is chosen and its half is compiled twice, rather than
  // leaving a core idle.
  std::deque<JobRef>::iterator next_for_core(Pool& pool) {
    const auto made_now = [&](JobRef job) {
      return !job->host.empty() && !host_halves_.knows(job->host) &&
             std::ranges::any_of(
                 pool.jobs, [&](JobRef other) { return other != jobs_.end() && other->host == job->host; });
    };
    const auto next = std::find_if_not(pool.queue.begin(), pool.queue.end(), made_now);
    return next != pool.queue.end() ? next : pool.queue.begin();
  }

  // The oldest job. Where problems are modules, loading another one takes seconds. So a job of the problem that the lane has at hand comes
  // first, then one of a problem that no lane has. No job is passed over for ever.
  std::deque<JobRef>::iterator next_for_gpu(Pool& pool, size_t lane) {
    constexpr int kMostPassed = 64;
    JobRef oldest = pool.queue.front();
    if (!modules_ || oldest->passed >= kMostPassed) return pool.queue.begin();
    const auto task_of = [](JobRef job) { return job->order.task; };
    auto next =
        pool.jobs_made[lane] ? std::ranges::find(pool.queue, pool.at_hand[lane], task_of) : pool.queue.end();
    if (next == pool.queue.end())
      next = std::ranges::find_if(pool.queue,
                                  [&](JobRef job) { return !at_another_hand(pool, job->order.task); });
    if (next == pool.queue.end()) return pool.queue.begin();
    if (next != pool.queue.begin()) ++oldest->passed;
    return next;
  }

  static bool at_another_hand(const Pool& pool, uint32_t task) {
    for (size_t i = 0; i < pool.lanes.size(); ++i)
      if (pool.jobs_made[i] && pool.at_hand[i] == task) return true;
    return false;
  }

  LaneRequest request_of(const Job& job, const Pool& pool) {
    return pool.gpu ? LaneRequest{gpu_index_[job.order.task], job.prepared}
                    : LaneRequest{job.order.task, job.order.source, host_halves_.find(job.host)};
  }

  void learn_host_half(const Job& job, LaneAnswer& answer) {
    host_counts_.made += answer.host == HostOrigin::kMade;
    host_counts_.known += answer.host == HostOrigin::kKnown;
    if (!answer.made.object.empty()) host_halves_.keep(job.host, std::move(answer.made));
  }

  void for_each_lane(const std::function<void(Pool&, size_t)>& work) {
    for (Pool* pool : {&cores_, &gpus_})
      for (size_t i = 0; i < pool->lanes.size(); ++i) work(*pool, i);
  }

  // Waits until `until_s` for lanes that have sent something or are due, and attends to them.
  void look(double until_s) {
    std::vector<pollfd> sockets;
    for_each_lane([&](Pool& pool, size_t i) {
      const BrokerClient& lane = pool.lanes[i];
      sockets.push_back({lane.socket(), lane.events(), 0});
      until_s = std::min(until_s, lane.due_s());
    });
    const double left_s = std::clamp(until_s - now_s(), 0.0, 1.0);
    ::poll(sockets.data(), sockets.size(), int(left_s * 1e3 + 0.999));
    size_t next = 0;
    for_each_lane([&](Pool& pool, size_t i) {
      if (sockets[next++].revents != 0 || now_s() >= pool.lanes[i].due_s()) attend(pool, i);
    });
  }

  void attend(Pool& pool, size_t i) {
    BrokerClient& lane = pool.lanes[i];
    BrokerClient::News news = lane.attend();
    if (!news.waits.empty()) say_wait(news.waits);
    restarts_ += news.died;
    if (!news.died && !news.answer) return;
    const JobRef job = std::exchange(pool.jobs[i], jobs_.end());
    if (job == jobs_.end()) return;
    if (news.died) return finish(job, infra(lane.last_words()));
    learn_host_half(*job, *news.answer);
    if (news.answer->prepared.empty()) {
      if (news.answer->verdict.naive) news.answer->verdict.naive->binding = options_.judge == "naive";
      return finish(job, news.answer->verdict);
    }
    job->prepared = std::move(news.answer->prepared);
    gpus_.queue.push_back(job);
  }

  // Prints what lanes wait for; of several that wait for the same thing only one does. `waits` is "12 core-3, which is
  // held by …".
  void say_wait(const std::string& waits) {
    double seconds = 0;
    std::from_chars(waits.data(), waits.data() + waits.size(), seconds);
    if (!says_wait_now(seconds) || now_s() - said_wait_s_ < kSayWaits_s) return;
    said_wait_s_ = now_s();
    fmt::print(stderr, "the judge waits for {}, for {:.0f} s\n",
               scrub(waits.substr(std::min(waits.find(' ') + 1, waits.size()))), seconds);
  }

  void finish(JobRef job, const Verdict& verdict) {
    if (verdict.unusable()) return end(job, verdict);  // as it will be the next time
    if (verdict.infra() && ++job->attempts < kMaxAttempts) {
      (job->prepared.empty() ? cores_ : gpus_).queue.push_back(job);
      return;
    }
    if (!verdict.infra()) {
      infra_ = {};
    } else {
      ++infra_.in_a_row;
      infra_.tasks.insert(job->order.task);
      infra_.words = verdict.reason;
    }
    end(job, verdict);
  }

  void end(JobRef job, const Verdict& verdict) {
    done_.push_back({job->order.id, verdict});
    jobs_.erase(job);
  }

  std::optional<ScratchFolder> headers_;  // outlives the lanes
  const JudgeOptions options_;
  const std::vector<Task> tasks_;
  const std::string cpu_;
  bool modules_ = false;             // whether tasks are modules of PyTorch
  std::vector<uint32_t> gpu_index_;  // by task: its number among those for GPUs
  std::list<Job> jobs_;
  HostHalves host_halves_{kHostHalves_bytes};
  HostHalfCounts host_counts_;
  Pool cores_, gpus_;
  std::vector<int64_t> gpu_numbers_;  // by lane of gpus_
  std::vector<WorkDone> done_;
  int64_t restarts_ = 0;
  Infra infra_;
  std::set<uint32_t> asked_;  // tasks
  double said_wait_s_ = 0;
};

}  // namespace

int64_t module_lanes(const JudgeOptions& options, int64_t gpus) {
  if (options.module_lanes > 0) return options.module_lanes;
  const int64_t cores = options.lanes > 0 ? options.lanes : int64_t(allowed_core_count());
  return std::clamp<int64_t>(cores / (2 * std::max<int64_t>(gpus, 1)), 1, kMostModuleLanes);
}

std::unique_ptr<JudgeBackend> make_lanes(const JudgeOptions& options, const std::vector<Task>& tasks) {
  return std::make_unique<Lanes>(options, tasks);
}

}  // namespace temper::env
