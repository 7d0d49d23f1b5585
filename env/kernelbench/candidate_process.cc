#include "env/kernelbench/candidate_process.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "env/box/clock.h"
#include "env/kernelbench/turns/module_turns.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;

constexpr int64_t kUntimedTrials = 4;  // before those that count: env/kernelbench/python/comparable.py

Finding late(const ModuleBound& bound) { return {VerdictKind::kFailTimeout, "timeout", bound.words}; }

// Descriptors of a process's memory, each of which the reference maps. Torch has a few large pieces and keeps them.
constexpr int64_t kMostSegments = 256;
constexpr nanoseconds kStopPatience{2'000'000'000};

int64_t next_party() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

}  // namespace

CandidateProcess::CandidateProcess(ModuleZygote& zygote, const Exchange& exchange, uid_t user)
    : process_(zygote.fork({.exchange = exchange.descriptor,
                            .exchange_bytes = exchange.bytes,
                            .clock = clock_.file(),
                            .user = user})),
      party_{.number = next_party(), .baseline = exchange.baseline},
      tree_(process_.pid()) {}

CandidateProcess::Answer CandidateProcess::ask(ModuleStep step, const Json& request, const char* expected,
                                               nanoseconds usual) {
  const ModuleBound most = bound(step, usual);
  const nanoseconds start = lane_clock();
  ModuleFrame frame = process_.ask(request, most.time);
  left_ -= lane_clock() - start;
  return answer_of(std::move(frame), expected, most);
}

// What it says of itself is believed only where it speaks against it.
CandidateProcess::Answer CandidateProcess::answer_of(ModuleFrame frame, const char* expected,
                                                     const ModuleBound& bound) {
  Answer answer;
  if (!frame.json) {
    answer.found = frame.end == "timeout" ? late(bound) : ending(frame.end);
    return answer;
  }
  try {
    answer.json = std::move(*frame.json);
    const std::string status = status_in(answer.json);
    if (status == expected) return answer;
    if (status != "failed") throw ConfigError("status is '{}', not '{}'", status, expected);
    answer.failure = failure_in(answer.json);
    answer.found = finding_of(answer.json, answer.failure);
  } catch (const ConfigError& e) {
    answer.found = malformed(e.what());
  }
  return answer;
}

Finding CandidateProcess::ending(const std::string& end) const {
  if (end == "malformed")
    return {VerdictKind::kFailRuntime, "protocol",
            "disturbed the process in which it runs; compute in forward alone"};
  if (end == "exit")
    return {VerdictKind::kFailRuntime, "exit", "ended its process; return the result of forward"};
  return {VerdictKind::kFailRuntime, end};
}

// Nothing that follows could be understood, either.
Finding CandidateProcess::malformed(const std::string& what) {
  process_.kill();
  Finding finding = ending("malformed");
  finding.details = scrub(what) + "\n";
  return finding;
}

CandidateProcess::Answer CandidateProcess::take(const ModuleCandidate& candidate, const Task& task) {
  Json extensions = Json::array();
  for (const ModuleExtension& extension : candidate.extensions) {
    const std::string file = extension.key + ".so";
    process_.put_file(file, extension.bytes);
    extensions.push_back({{"key", extension.key}, {"file", file}});
  }
  return ask(ModuleStep::kBuild,
             {{"op", "candidate"},
              {"source", candidate.source},
              {"problem", task.reference},
              {"precision", task.module->precision},
              {"backend", backend_of(candidate.source)},
              {"gated", candidate.gated},
              {"extensions", std::move(extensions)}},
             "ok");
}

CandidateProcess::Answer CandidateProcess::take_weights(const Json& weights) {
  return ask(ModuleStep::kWeights, {{"op", "weights"}, {"weights", weights}}, "ok");
}

CandidateProcess::Answer CandidateProcess::arm(const ReferenceProcess::Placed& placed, bool own_time) {
  Json request{{"op", "arm"}, {"inputs", placed.inputs}, {"outputs", placed.outputs}, {"nonce", ++number_}};
  if (own_time) request["own_time"] = true;
  return ask(ModuleStep::kBetween, request, "armed");
}

CandidateProcess::Call CandidateProcess::go(ReferenceProcess& reference) {
  Call call;
  let_compute(reference, call);
  if (call.answer.found) {
    process_.kill();
    return call;
  }
  const ModuleBound most = bound(ModuleStep::kBetween);
  const nanoseconds start = lane_clock();
  ModuleFrame frame = said_ ? *std::exchange(said_, std::nullopt) : process_.receive(most.time);
  left_ -= lane_clock() - start;
  call.answer = answer_of(std::move(frame), "done", most);
  if (call.answer.found) return call;
  try {
    call.outputs = tensors_in(call.answer.json, "outputs");
    // Only a done that the clock has seen is one.
    if (call.us == 0) throw ConfigError("done, but not by the clock");
  } catch (const ConfigError& e) {
    call.answer.found = malformed(e.what());
  }
  return call;
}

// The reference's clock runs from when the inputs are there until it has copied the outputs from where the process says that they lie.
// What it computes or moves later does not count, and no code of its own takes part in handing results over, so that none of its
// time is free. Leaves the call without a time where it ends in another way.
void CandidateProcess::let_compute(ReferenceProcess& reference, Call& call) {
  using Word = ClockPage::Word;
  using Step = ReferenceProcess::Step;
  clock_.say(Word::kGo, number_);
  reference.take(Step::kShow);
  if (clock_.said(Word::kComputed, number_)) {
    call.answer.found =
        Finding{VerdictKind::kHack, "clock", "said that a call was done before it was time to do it"};
    return;
  }
  clock_.say(Word::kGiven, number_);
  ClockPage::Wait computed;
  if (!until_computed(reference, call, computed)) return;
  reference.copy_places(clock_);
  reference.take(Step::kSnapshot);
  call.us = reference.took_us();
}

// Whether the process says that its result is there. Where it is out of time, that is what is found.
bool CandidateProcess::until_computed(ReferenceProcess& reference, Call& call, ClockPage::Wait& wait) {
  const ModuleBound most = bound(std::exchange(warm_, true) ? ModuleStep::kCall : ModuleStep::kFirstCall);
  const nanoseconds start = lane_clock();
  nanoseconds left = most.time;
  for (;;) {
    wait = clock_.wait(ClockPage::Word::kComputed, number_, left, [&] { return process_.heard(); });
    left = most.time - (lane_clock() - start);
    if (wait.end != ClockPage::End::kBroken) break;
    if (!pass_segment(reference)) break;
    call.maps = true;
  }
  // What it has exported before it said so may not have been read yet.
  while (wait.end == ClockPage::End::kDone && !said_ && process_.heard() && pass_segment(reference))
    call.maps = true;
  left_ -= lane_clock() - start;
  if (wait.end == ClockPage::End::kLate) call.answer.found = late(most);
  return wait.end == ClockPage::End::kDone;
}

// Whether what it has said is where memory of its own lies, which the reference has mapped now.
bool CandidateProcess::pass_segment(ReferenceProcess& reference) {
  ModuleFrame frame = process_.receive(kStopPatience);
  const std::vector<Fd> memory = process_.descriptors();
  const bool segment = frame.json && frame.json->value("status", Json()) == "segment" && memory.size() == 1 &&
                       ++segments_ <= kMostSegments;
  if (!segment) {
    said_ = std::move(frame);
    return false;
  }
  const auto number = [&](const char* key) {
    const auto found = frame.json->find(key);
    return found != frame.json->end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
  };
  reference.take_segment({{"number", number("number")}, {"bytes", number("bytes")}}, memory.front());
  return true;
}

void CandidateProcess::freeze() {
  if (process_.running()) tree_.stop(kStopPatience);
}

void CandidateProcess::thaw() {
  if (process_.running()) tree_.resume();
}

CandidateProcess::Answer CandidateProcess::comparable_times(int64_t trials, nanoseconds expected,
                                                            std::vector<double>& times_ms, bool gradients) {
  Answer answer =
      ask(ModuleStep::kTimes, {{"op", "comparable_times"}, {"trials", trials}, {"no_grad", !gradients}}, "ok",
          (trials + kUntimedTrials) * expected);
  if (answer.found) return answer;
  try {
    times_ms = times_in(answer.json, "times_ms", trials);
  } catch (const ConfigError& e) {
    answer.found = malformed(e.what());
  }
  return answer;
}

CandidateProcess::Answer CandidateProcess::profile(std::optional<ModuleProfile>& seen) {
  Answer answer = ask(ModuleStep::kProfile, {{"op", "profile"}}, "ok");
  if (answer.found) return answer;
  try {
    seen = profile_in(answer.json);
  } catch (const ConfigError& e) {
    answer.found = malformed(e.what());
  }
  return answer;
}

std::unique_ptr<CandidateProcess> CandidatePool::take() {
  TEMPER_CHECK(exchange_.descriptor >= 0);
  if (waiting_.empty()) prepare(exchange_);
  auto taken = std::move(waiting_.front());
  waiting_.pop_front();
  taken->wait_ready();
  return taken;
}

void CandidatePool::settle() {
  for (const auto& one : waiting_) one->wait_ready();
}

// Each process has a user of its own: limits of processes count by user.
void CandidatePool::prepare(const CandidateProcess::Exchange& exchange) {
  constexpr int64_t kUsers = 4, kUserStep = 8'000'000;
  if (exchange.descriptor != exchange_.descriptor || exchange.bytes != exchange_.bytes) waiting_.clear();
  exchange_ = exchange;
  while (std::ssize(waiting_) < std::max<int64_t>(spares_, 1)) {
    const uid_t user = user_ + uid_t(kUserStep * (1 + started_++ % kUsers));
    waiting_.push_back(std::make_unique<CandidateProcess>(zygote_, exchange_, user));
  }
}

}  // namespace temper::env
