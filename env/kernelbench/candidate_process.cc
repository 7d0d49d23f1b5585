#include "env/kernelbench/candidate_process.h"

#include <algorithm>

#include "base/error.h"
#include "env/box/clock.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;

double us_between(nanoseconds begun, nanoseconds ended) { return double((ended - begun).count()) * 1e-3; }

std::vector<std::string> candidate_arguments(const ModuleBoxOptions& options, int64_t exchange_bytes) {
  return {"--device", options.device, "--exchange-bytes", std::to_string(exchange_bytes)};
}

}  // namespace

CandidateProcess::CandidateProcess(const ModuleBoxOptions& options, const Exchange& exchange)
    : process_(options, {.program = "candidate_main.py",
                         .arguments = candidate_arguments(options, exchange.bytes),
                         .descriptors = {exchange.descriptor, clock_.file()}}) {}

CandidateProcess::Answer CandidateProcess::ask(const Json& request, const char* expected) {
  const nanoseconds start = raw_clock();
  ModuleFrame frame = process_.ask(request, std::max(budget_, nanoseconds(0)));
  budget_ -= raw_clock() - start;
  return answer_of(std::move(frame), expected);
}

// What it says of itself is believed only where it speaks against it.
CandidateProcess::Answer CandidateProcess::answer_of(ModuleFrame frame, const char* expected) {
  Answer answer;
  if (!frame.json) {
    answer.found = ending(frame.end);
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
  if (end == "timeout") return {VerdictKind::kFailTimeout, "timeout"};
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
  return ask({{"op", "candidate"},
              {"source", candidate.source},
              {"problem", task.reference},
              {"precision", task.module->precision},
              {"backend", backend_of(candidate.source)},
              {"extensions", std::move(extensions)}},
             "ok");
}

CandidateProcess::Answer CandidateProcess::take_weights(const Json& weights) {
  return ask({{"op", "weights"}, {"weights", weights}}, "ok");
}

CandidateProcess::Answer CandidateProcess::arm(const ReferenceProcess::Placed& placed, bool own_time) {
  Json request{{"op", "arm"}, {"inputs", placed.inputs}, {"outputs", placed.outputs}, {"nonce", ++number_}};
  if (own_time) request["own_time"] = true;
  return ask(request, "armed");
}

CandidateProcess::Call CandidateProcess::go(const std::function<void()>& looked) {
  Call call;
  const ClockPage::Call timed = clock_.run(number_, budget_, [&] { return process_.heard(); });
  budget_ -= timed.ended - timed.begun;
  if (timed.end == ClockPage::End::kEarly) {
    process_.kill();
    call.answer.found = Finding{VerdictKind::kHack, "clock", "said that a call was done before it had begun"};
    return call;
  }
  if (timed.end == ClockPage::End::kLate) {
    process_.kill();
    call.answer.found = ending("timeout");
    return call;
  }
  if (timed.end == ClockPage::End::kDone) {
    looked();
    call.us = us_between(timed.begun, timed.ended);
    call.looked_us = us_between(timed.ended, raw_clock());
  }
  const nanoseconds start = raw_clock();
  ModuleFrame frame = process_.receive(std::max(budget_, nanoseconds(0)));
  budget_ -= raw_clock() - start;
  call.answer = answer_of(std::move(frame), "done");
  if (call.answer.found) return call;
  try {
    call.outputs = tensors_in(call.answer.json, "outputs");
    // Only a done that the clock has seen is one.
    if (timed.end != ClockPage::End::kDone) throw ConfigError("done, but not by the clock");
  } catch (const ConfigError& e) {
    call.answer.found = malformed(e.what());
  }
  return call;
}

CandidateProcess::Answer CandidateProcess::comparable_times(int64_t trials, std::vector<double>& times_ms,
                                                            bool gradients) {
  Answer answer = ask({{"op", "comparable_times"}, {"trials", trials}, {"no_grad", !gradients}}, "ok");
  if (answer.found) return answer;
  try {
    times_ms = times_in(answer.json, "times_ms", trials);
  } catch (const ConfigError& e) {
    answer.found = malformed(e.what());
  }
  return answer;
}

CandidateProcess::Answer CandidateProcess::profile(std::optional<ModuleProfile>& seen) {
  Answer answer = ask({{"op", "profile"}}, "ok");
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

// Each process has a user of its own: limits of processes count by user.
void CandidatePool::prepare(const CandidateProcess::Exchange& exchange) {
  constexpr int64_t kUsers = 4, kUserStep = 8'000'000;
  if (exchange.descriptor != exchange_.descriptor || exchange.bytes != exchange_.bytes) waiting_.clear();
  exchange_ = exchange;
  while (std::ssize(waiting_) < std::max<int64_t>(spares_, 1)) {
    ModuleBoxOptions options = options_;
    options.user += uid_t(kUserStep * (1 + started_++ % kUsers));
    waiting_.push_back(std::make_unique<CandidateProcess>(options, exchange_));
  }
}

}  // namespace temper::env
