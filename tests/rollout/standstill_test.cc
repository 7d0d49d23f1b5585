// A run always ends or goes on: random schedules of slots, lines, turns, verdicts, dead lanes, the GPU's lock
// and signals, over a small policy and a judge without processes. TEMPER_SCHEDULES says how many, 1000, and
// TEMPER_FIRST_SCHEDULE which is the first, 0: a schedule's number is its seed.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "env/judge/judge_backend.h"
#include "policy/parameters/parameter_store.h"
#include "policy/ranks/activity.h"
#include "rollout/rollout.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::rollout {

using env::Judge;
using env::Verdict;

namespace {

constexpr const char* kTasks = R"(
- {name: one, reference: 2 * x, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 5}], timed: {n: 99}}
- {name: two, reference: 3 * x, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 5}], timed: {n: 99}}
)";

const std::vector<env::Task>& tasks() {
  static const auto all = env::parse_tasks(kTasks, "standstill_test.cc");
  return all;
}

std::string random_answer(Rng& rng) {
  std::string answer = "\n```\nkernel";
  while (rng.below(3) > 0) answer += fmt::format(" {}", rng.below(10));
  return answer + "\n```\n";
}

const policy::Tokenizer& small_tokenizer() {
  static const policy::Tokenizer one = [] {
    std::vector<std::string> texts;
    Rng rng{1};
    for (int i = 0; i < 400; ++i) texts.push_back(random_answer(rng));
    for (const env::Task& task : tasks()) texts.insert(texts.end(), 20, task.prompt());
    return policy::Tokenizer::train(texts, 400);
  }();
  return one;
}

// Which token follows which in answers.
std::map<int32_t, std::set<int32_t>> successors() {
  const policy::ChatFormat format(small_tokenizer());
  std::map<int32_t, std::set<int32_t>> next;
  Rng rng{2};
  for (int i = 0; i < 400; ++i) {
    std::vector<int32_t> ids{format.user_turn("x").back()};
    for (const int32_t id : small_tokenizer().encode(random_answer(rng))) ids.push_back(id);
    ids.push_back(format.stop_id());
    for (size_t t = 1; t < ids.size(); ++t) next[ids[t - 1]].insert(ids[t]);
  }
  return next;
}

policy::ModelConfig small_config() {
  policy::ModelConfig c;
  c.vocab_size = small_tokenizer().vocab_size();
  c.hidden_size = 256;
  c.intermediate_size = 8;
  c.num_hidden_layers = 1;
  c.num_attention_heads = 2;
  c.num_key_value_heads = 1;
  c.head_dim = 8;
  c.tie_word_embeddings = false;
  return c;
}

// Writes such answers: a token is known by a random direction, by which the head finds those that may follow.
// What it attends to has a say in which of them.
policy::Policy& small_policy() {
  static policy::Policy one = [] {
    policy::Policy policy(small_config(), {});
    policy::ParameterStore& store = policy.parameters();
    const int64_t d = small_config().hidden_size;
    Rng rng{3};
    at::Tensor weights = at::zeros({store.size()}, at::kFloat), embedding, head;
    float* const values = weights.data_ptr<float>();
    for (const policy::ParameterInfo& p : store.parameters()) {
      const at::Tensor part = weights.narrow(0, p.offset, p.size);
      if (p.name == "model.embed_tokens.weight") embedding = part.view({-1, d});
      if (p.name == "lm_head.weight") head = part.view({-1, d});
      for (int64_t i = 0; i < p.size; ++i) values[p.offset + i] = p.decays ? 0.1f * float(rng.normal()) : 1;
    }
    for (float& value : std::span(embedding.data_ptr<float>(), size_t(embedding.numel())))
      value = rng.below(2) ? 1 : -1;
    head.zero_();
    for (const auto& [before, after] : successors())
      for (const int32_t id : after) head[id] += embedding[before] * 0.2;
    store.weights().copy_(weights);
    return policy;
  }();
  return one;
}

// What happens in one rollout. Moments are counted in turns of the judge's loop.
struct Schedule {
  explicit Schedule(uint64_t seed) : rng{seed, 11} {
    slots = 1 + int64_t(rng.below(6));
    lines = 1 + int64_t(rng.below(10));
    turns = 1 + int64_t(rng.below(4));
    slowest = 1 + rng.below(rng.below(2) ? 4 : 60);
    stop_on_pass = rng.below(4) == 0;
    own_gpu = rng.below(2) == 0;
    if (own_gpu) lock_tries = rng.below(3) ? 0 : rng.below(200);
    if (rng.below(4) == 0) dead_from = 1 + rng.below(12), dead_for = 1 + rng.below(6);
    ends = rng.below(5) == 0;
    if (rng.below(5) == 0) interrupt_at = 1 + rng.below(80);
    stops = rng.below(2) == 0;
    // What never comes would be waited for until somebody interrupts.
    if (interrupt_at && rng.below(6) == 0) (own_gpu && rng.below(2) ? lock_never : silent) = true;
  }

  Rng rng;
  int64_t slots, lines, turns;
  uint64_t slowest;                         // verdict
  bool stop_on_pass, own_gpu, ends, stops;  // ends: nobody is left to judge, from when lanes are dead
  uint64_t lock_tries = 0;                  // before another process lets go
  uint64_t dead_from = 0, dead_for = 0;     // candidates
  uint64_t interrupt_at = 0;
  bool lock_never = false, silent = false;  // silent: one candidate's verdict never comes
};

struct Stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Judges by the schedule; on the policy's own GPU only while the policy does not hold it.
class Stub : public env::JudgeBackend {
 public:
  explicit Stub(Schedule& schedule) : schedule_(schedule) {}

  std::string sandbox_level() const override { return "S2"; }
  std::string machine(const std::string&) const override { return "stub"; }
  std::vector<std::string> notes() const override { return {}; }
  int64_t width() const override { return 1; }
  int64_t restarts() const override { return 0; }
  bool judges_on(int64_t) const override { return schedule_.own_gpu; }

  void submit(env::WorkOrder order) override {
    const bool dead =
        ++submitted_ >= schedule_.dead_from && submitted_ < schedule_.dead_from + schedule_.dead_for;
    if (dead && schedule_.ends) ended_ = true;
    if (dead) {  // what it held and what comes
      for (const auto& [due, id] : due_) done_.push_back({id, env::infra("the lane died")});
      due_.clear();
      return done_.push_back({order.id, env::infra("the lane died")});
    }
    if (schedule_.silent && submitted_ == 2) return;
    due_.insert({turn_ + schedule_.rng.below(schedule_.slowest), order.id});
  }

  std::vector<env::WorkDone> wait(double until_s) override {
    take_turn();
    if (ended_) throw WorldError("no judge is left: the lane died");
    if (schedule_.silent && interrupted() && until_s > now_s()) ::usleep(1000);
    for (auto it = due_.begin(); it != due_.end() && !held_ && it->first <= turn_; it = due_.erase(it))
      done_.push_back({it->second, verdict()});
    return std::exchange(done_, {});
  }

  std::shared_ptr<void> hold_gpu(int64_t, const std::function<bool()>& give_up) override {
    for (uint64_t tries = 0; schedule_.lock_never || tries < schedule_.lock_tries; ++tries) {
      take_turn();
      if (give_up()) return nullptr;
      if (schedule_.lock_never) ::usleep(100);
    }
    held_ = true;
    return {this, [](Stub* stub) { stub->held_ = false; }};
  }

 private:
  // Nothing takes so many turns; only who has been told to wait until a signal comes waits for more.
  void take_turn() {
    if (++turn_ == schedule_.interrupt_at) interrupt();
    const uint64_t progress = policy::present_activity().progress;
    if (std::exchange(progress_, progress) != progress || !due_.empty() != had_due_) since_ = turn_;
    had_due_ = !due_.empty();
    const bool waits_for_patience = schedule_.silent && interrupted();
    if (turn_ - since_ > (waits_for_patience ? 1'000'000 : 5'000)) throw Stuck("stands still");
  }

  Verdict verdict() {
    switch (schedule_.rng.below(4)) {
      case 0:
        return env::verdict_of(env::VerdictKind::kFailIncorrect, "tolerance");
      case 1:
        return schedule_.rng.below(4) ? env::verdict_of(env::VerdictKind::kFailCompile, "compile_error")
                                      : env::infra("a box was lost");
      default:
        Verdict pass = env::verdict_of(env::VerdictKind::kPass, "");
        pass.candidate_us = pass.baseline_us = pass.speedup = 1;
        return pass;
    }
  }

  Schedule& schedule_;
  std::multimap<uint64_t, uint64_t> due_;
  std::vector<env::WorkDone> done_;
  uint64_t turn_ = 0, submitted_ = 0, since_ = 0, progress_ = 0;
  bool held_ = false, ended_ = false, had_due_ = false;
};

struct Outcome {
  bool stuck = false, world_ended = false, given_up = false;
  Batch batch;
};

Outcome run(uint64_t seed, Schedule& schedule, Judge& judge) {
  RolloutOptions options;
  options.turns = schedule.turns;
  options.max_sequences = schedule.slots;
  options.stop_on_pass = schedule.stop_on_pass;
  options.max_response_tokens = 14;
  options.max_context_tokens = 1000;
  Rollout rollout(small_policy(), small_tokenizer(), judge, options, seed);
  rollout.stops_when_interrupted = schedule.stops;
  rollout.patience_s = 0.02;
  rollout.shares_gpu = schedule.own_gpu;
  Outcome outcome;
  try {
    const int64_t first = schedule.lines / 2;
    outcome.batch = rollout.run(0, {{&tasks()[0], first}, {&tasks()[1], schedule.lines - first}});
    outcome.given_up = rollout.stats().given_up;
  } catch (const Stuck&) {
    outcome.stuck = true;
  } catch (const WorldError&) {
    outcome.world_ended = true;
  }
  return outcome;
}

// Answers whose verdict is not there, and trajectories that ended for no reason.
int64_t lost_in(const Outcome& outcome, const Schedule& schedule) {
  int64_t lost = 0;
  for (const Group& group : outcome.batch.groups)
    for (const Trajectory& trajectory : group.samples) {
      for (const Turn& turn : trajectory.turns) lost += turn.verdict.infra() && turn.verdict.reason.empty();
      const bool whole = std::ssize(trajectory.turns) == schedule.turns;
      const Verdict last = trajectory.turns.empty() ? Verdict{} : trajectory.turns.back().verdict;
      lost += !whole && !last.infra() && !(schedule.stop_on_pass && last.pass());
    }
  return lost;
}

uint64_t number_asked(const char* variable, uint64_t otherwise) {
  const char* const asked = std::getenv(variable);
  return asked ? std::strtoull(asked, nullptr, 10) : otherwise;
}

TEST(Standstill, ARunAlwaysEndsOrGoesOn) {
  const uint64_t first = number_asked("TEMPER_FIRST_SCHEDULE", 0),
                 count = number_asked("TEMPER_SCHEDULES", 1000);
  int64_t stuck = 0, lost = 0, whole = 0, judged = 0;
  std::map<std::string, int64_t> kinds;
  const double start = now_s();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Schedule schedule(seed);
    const Schedule plan = schedule;
    Judge judge({}, tasks(), std::make_unique<Stub>(schedule));
    const Outcome outcome = run(seed, schedule, judge);
    const bool signalled = interrupted();
    forget_interrupt();
    kinds["more lines than slots, the judge on the policy's GPU"] += plan.own_gpu && plan.lines > plan.slots;
    kinds["more lines than slots, the judge elsewhere"] += !plan.own_gpu && plan.lines > plan.slots;
    kinds["dead lanes"] += plan.dead_from > 0;
    kinds["nobody left to judge"] += outcome.world_ended;
    kinds["another process holds the GPU"] += plan.lock_tries > 0 || plan.lock_never;
    kinds["interrupted"] += signalled;
    kinds["given up"] += outcome.given_up;
    stuck += outcome.stuck;
    EXPECT_FALSE(outcome.stuck) << "schedule " << seed;
    EXPECT_FALSE(outcome.given_up && !signalled) << "schedule " << seed;
    if (outcome.stuck || outcome.world_ended || outcome.given_up || (signalled && plan.stops)) continue;
    ++whole;
    const int64_t missing = lost_in(outcome, plan);
    EXPECT_EQ(missing, 0) << "schedule " << seed;
    EXPECT_EQ(judge.pending(), 0u) << "schedule " << seed;
    lost += missing;
    judged += judge.stats().submitted;
  }
  fmt::print(
      "{} random schedules from {} on, in {:.1f} s: {} stuck, {} verdicts lost of {} in {} runs that "
      "came to their end\n",
      count, first, now_s() - start, stuck, lost, judged, whole);
  RecordProperty("schedules", std::to_string(count));
  RecordProperty("stuck", std::to_string(stuck));
  RecordProperty("verdicts_lost", std::to_string(lost));
  for (const auto& [kind, number] : kinds) fmt::print("{:>6} {}\n", number, kind);
  if (count < 200) return;
  for (const auto& [kind, number] : kinds) EXPECT_GT(number, 0) << kind;
  EXPECT_GT(judged, int64_t(count));
}

// Never says a verdict, and after some waits somebody interrupts.
class Silence : public env::JudgeBackend {
 public:
  explicit Silence(std::vector<uint64_t>& progress) : progress_(progress) {}
  std::string sandbox_level() const override { return "S2"; }
  std::string machine(const std::string&) const override { return "stub"; }
  std::vector<std::string> notes() const override { return {}; }
  int64_t width() const override { return 1; }
  int64_t restarts() const override { return 0; }
  void submit(env::WorkOrder) override {}
  std::vector<env::WorkDone> wait(double until_s) override {
    if (until_s < now_s()) return {};
    progress_.push_back(policy::present_activity().progress);
    if (progress_.size() == 6) interrupt();
    ::usleep(useconds_t(std::max(0.0, until_s - now_s()) * 1e6));
    return {};
  }

 private:
  std::vector<uint64_t>& progress_;
};

// The rank watch takes a process for hung whose progress stands still: a loop that turns is none.
TEST(Standstill, WaitingForAVerdictIsNoProgress) {
  Schedule schedule(0);
  schedule.lines = 10;
  schedule.own_gpu = schedule.stop_on_pass = false;
  for (const bool stops : {true, false}) {
    schedule.stops = stops;
    std::vector<uint64_t> progress;
    Judge judge({}, tasks(), std::make_unique<Silence>(progress));
    EXPECT_EQ(run(0, schedule, judge).given_up, !stops);  // and does not wait for ever
    forget_interrupt();
    ASSERT_GE(progress.size(), 6u);
    EXPECT_EQ(progress.front(), progress.back());
  }
}

// A signal is answered while another process holds the GPU, and nothing of the step is taken for whole.
TEST(Standstill, AnInterruptEndsTheWaitForTheGpu) {
  Schedule schedule(0);
  schedule.own_gpu = schedule.lock_never = true;
  schedule.stops = false;
  schedule.interrupt_at = 40;
  Judge judge({}, tasks(), std::make_unique<Stub>(schedule));
  const Outcome outcome = run(0, schedule, judge);
  forget_interrupt();
  EXPECT_TRUE(outcome.given_up);
}

}  // namespace
}  // namespace temper::rollout
