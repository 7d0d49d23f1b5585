#include "env/kernelbench/candidate_process.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "env/box/clock.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;

constexpr int64_t kUntimedTrials = 4;  // before those that count: env/kernelbench/python/comparable.py

Finding late(const ModuleBound& bound) { return {VerdictKind::kFailTimeout, "timeout", bound.words}; }

double us_between(nanoseconds begun, nanoseconds ended) { return double((ended - begun).count()) * 1e-3; }

}  // namespace

CandidateProcess::CandidateProcess(ModuleZygote& zygote, const Exchange& exchange, uid_t user)
    : process_(zygote.fork({.exchange = exchange.descriptor,
                            .exchange_bytes = exchange.bytes,
                            .clock = clock_.file(),
                            .user = user})),
      watch_(process_.pid()) {}

CandidateProcess::Answer CandidateProcess::ask(ModuleStep step, const Json& request, const char* expected,
                                               nanoseconds usual) {
  const ModuleBound most = bound(step, usual);
  const nanoseconds start = raw_clock();
  ModuleFrame frame = process_.ask(request, most.time);
  left_ -= raw_clock() - start;
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
  Json outputs = placed.outputs;
  offsets_.clear();
  for (Json& one : outputs) {
    offsets_.push_back(one.at("offset").get<uint64_t>());
    one.erase("offset");
  }
  Json request{
      {"op", "arm"}, {"inputs", placed.inputs}, {"outputs", std::move(outputs)}, {"nonce", ++number_}};
  if (own_time) request["own_time"] = true;
  return ask(ModuleStep::kBetween, request, "armed");
}

CandidateProcess::Call CandidateProcess::go(const Steps& steps) {
  Call call;
  let_compute(steps, call);
  if (call.answer.found) {
    process_.kill();
    return call;
  }
  const ModuleBound most = bound(ModuleStep::kBetween);
  const nanoseconds start = raw_clock();
  ModuleFrame frame = process_.receive(most.time);
  left_ -= raw_clock() - start;
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

// The clock runs before anything of the inputs can be seen, and until the outputs lie where the process cannot reach them. The
// outputs' places are told only once it says that its result is there, so that nothing can be computed into them, and the
// inputs are taken away before. Leaves the call without times where it ends in another way.
void CandidateProcess::let_compute(const Steps& steps, Call& call) {
  using Word = ClockPage::Word;
  const auto early = [&](Word word) {
    if (!clock_.said(word, number_)) return false;
    call.answer.found =
        Finding{VerdictKind::kHack, "clock", "said that a call was done before it was time to do it"};
    return true;
  };
  if (early(Word::kComputed) || early(Word::kDone)) return;
  ClockPage::Wait computed, done;
  const auto helpers_at_start = watch_.helpers();
  const nanoseconds start = raw_clock();
  clock_.say(Word::kGo, number_);
  nanoseconds waited = steps.show();
  if (early(Word::kComputed)) return;
  const auto helpers_when_given = watch_.helpers();
  const nanoseconds given = raw_clock();
  clock_.say(Word::kGiven, number_);
  const ModuleStep step = std::exchange(warm_, true) ? ModuleStep::kCall : ModuleStep::kFirstCall;
  if (!until(Word::kComputed, step, call, computed)) return;
  const auto helpers_when_computed = watch_.helpers();
  if (steps.retract) waited += steps.retract();
  if (early(Word::kDone)) return;
  clock_.put_offsets(offsets_);
  watch_.begin();
  clock_.say(Word::kAsked, number_);
  if (!until(Word::kDone, ModuleStep::kBetween, call, done)) return;
  waited += watch_.waited(done.ended, done.unseen) + steps.snapshot();
  const nanoseconds end = raw_clock();
  const auto helpers_at_end = watch_.helpers();
  call.us = us_between(given, computed.ended);
  call.rest_us = us_between(start, end) - call.us;
  call.waited_us = us_between({}, waited);
  call.helpers_us = call.rest_us;  // where the kernel does not count
  if (helpers_at_start && helpers_when_given && helpers_when_computed && helpers_at_end)
    call.helpers_us = std::max(0.0, us_between(*helpers_at_start, *helpers_when_given) +
                                        us_between(*helpers_when_computed, *helpers_at_end));
}

// Whether the process writes the call's number there. Where it is out of time, that is what is found.
bool CandidateProcess::until(ClockPage::Word word, ModuleStep step, Call& call, ClockPage::Wait& wait) {
  const ModuleBound most = bound(step);
  const nanoseconds start = raw_clock();
  wait = clock_.wait(word, number_, most.time, [&] { return process_.heard(); });
  left_ -= wait.ended - start;
  if (wait.end == ClockPage::End::kLate) call.answer.found = late(most);
  return wait.end == ClockPage::End::kDone;
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
