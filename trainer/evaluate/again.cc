#include "trainer/evaluate/again.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "env/verdict/timing.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {

using env::Verdict;

Verdict PassedAnswer::verdict() const {
  const auto fallen = std::ranges::find_if(after, [](const Verdict& one) { return !one.pass(); });
  if (fallen != after.end()) return *fallen;
  const auto middle = [&](double Verdict::*field) {
    std::vector<double> values;
    for (const Verdict& one : after) values.push_back(one.*field);
    return env::median(values);
  };
  Verdict result = after.front();
  result.speedup = middle(&Verdict::speedup);
  result.speedup_low = middle(&Verdict::speedup_low);
  result.speedup_high = middle(&Verdict::speedup_high);
  return result;
}

int64_t PassedAnswer::falls() const {
  return std::ranges::count_if(after, [](const Verdict& one) { return !one.pass(); });
}

void judge_again(env::Judge& judge, std::vector<PassedAnswer>& answers, int64_t rounds,
                 const std::function<void(int64_t, int64_t)>& progress) {
  std::unordered_map<env::Ticket, PassedAnswer*> asked;
  for (PassedAnswer& answer : answers)
    for (int64_t round = 1; round <= rounds; ++round)
      asked[judge.submit(answer.task, fmt::format("{}\n// round {}\n", answer.code, round))] = &answer;
  int64_t done = 0;
  while (judge.pending() > 0) {
    throw_if_interrupted();
    for (env::Judged& judged : judge.poll(std::chrono::milliseconds(500))) {
      if (!judged.verdict.infra()) asked.at(judged.ticket)->after.push_back(std::move(judged.verdict));
      if (progress) progress(++done, std::ssize(asked));
    }
  }
}

}  // namespace temper::trainer
