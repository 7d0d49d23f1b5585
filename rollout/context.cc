#include "rollout/context.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace temper::rollout {

void ContextOptions::visit(OptionVisitor& v) {
  v.option("rule", rule,
           {.help = "what a turn sees of earlier turns. append: everything; drop_reasoning: their "
                    "code and feedback; summaries: their code, the policy's summary and feedback; "
                    "best_of_history: the best answers and their feedback",
            .choices = {"append", "drop_reasoning", "summaries", "best_of_history"}});
  v.option("summary_tokens", summary_tokens,
           {.help = "rule summaries: largest length of a summary", .unit = "tokens", .min = 1});
  v.option("shown_turns", shown_turns,
           {.help = "rule best_of_history: largest number of answers shown", .min = 1});
}

Standing standing(const env::Verdict& verdict, double value) {
  return {.rank = verdict.infra() ? 0 : verdict.pass() ? 2 : 1, .value = value};
}

Standing standing(const env::Verdict& verdict) {
  const env::Verdict heard = env::told(verdict);
  return standing(heard, heard.pass() ? heard.speedup : 0);
}

std::vector<size_t> best_indices(const std::vector<Standing>& standings, int64_t count) {
  std::vector<size_t> order(standings.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return standings[i]; });
  order.resize(std::min(order.size(), size_t(count)));
  std::ranges::sort(order);
  return order;
}

PastTurn shown_part(const ContextOptions& options, const Trajectory& trajectory, const Turn& turn,
                    const policy::ChatFormat& format, const policy::Tokenizer& tokenizer) {
  if (options.appends() || options.shows_best())
    return {trajectory.answer_ids(turn), turn.stopped, turn.verdict};
  const Segment& row = trajectory.row_of(turn);
  PastTurn shown{.ids = {}, .stopped = false, .verdict = turn.verdict};
  for (int32_t t = turn.begin; t < turn.end; ++t)
    if (row.roles[size_t(t)] == Role::kCode) shown.ids.push_back(row.ids[size_t(t)]);
  if (turn.summary.begin == turn.summary.end) return shown;
  const std::vector<int32_t> gap = tokenizer.encode("\n");
  shown.ids.insert(shown.ids.end(), gap.begin(), gap.end());
  shown.ids.insert(shown.ids.end(), row.ids.begin() + turn.summary.begin, row.ids.begin() + turn.summary.end);
  shown.stopped = std::ranges::count(format.stop_ids(), shown.ids.back()) > 0;
  return shown;
}

std::vector<size_t> shown_turns(const ContextOptions& options, const Trajectory& trajectory, size_t turns) {
  std::vector<Standing> standings;
  for (size_t i = 0; i < turns; ++i) standings.push_back(standing(trajectory.turns.at(i).verdict));
  return best_indices(standings, options.shows_best() ? options.shown_turns : std::ssize(standings));
}

std::string summary_request(const ContextOptions& options) {
  return fmt::format(
      "In at most {} tokens and without code: what did you try, and why? Later turns see your code and this "
      "summary instead of your reasoning.",
      options.summary_tokens);
}

}  // namespace temper::rollout
