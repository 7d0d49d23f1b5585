#include "rollout/search.h"

#include <algorithm>

#include "base/error.h"

namespace temper::rollout {
namespace {

struct Chain {
  std::vector<PastTurn> turns;  // without INFRA
  std::vector<Standing> standings;

  Standing best() const { return standings.empty() ? Standing{} : *std::ranges::max_element(standings); }
};

// The best of a chain's turns, in the order they were made.
std::vector<PastTurn> best_turns(const Chain& chain, int64_t count) {
  std::vector<PastTurn> turns;
  for (const size_t i : best_indices(chain.standings, count)) turns.push_back(chain.turns[i]);
  return turns;
}

PastTurn last_turn(const Trajectory& trajectory) {
  const Turn& turn = trajectory.turns.back();
  return {trajectory.answer_ids(turn), turn.stopped, turn.verdict};
}

// The best chains, copied in turn.
void select(std::vector<Chain>& chains, int64_t keep) {
  std::ranges::stable_sort(chains, std::greater(), &Chain::best);
  for (size_t i = size_t(keep); i < chains.size(); ++i) chains[i] = chains[i % size_t(keep)];
}

}  // namespace

std::vector<Search> search(Rollout& rollout, const std::vector<const env::Task*>& tasks, int64_t trials,
                           const SearchOptions& options,
                           const std::function<double(const env::Verdict&)>& value,
                           const std::function<void(const Batch&)>& record,
                           const std::function<void(int64_t, int64_t)>& progress) {
  const int64_t width = options.width, rounds = options.budget / width;
  TEMPER_CHECK(width > 0 && options.keep > 0 && options.keep <= width && options.budget % width == 0 &&
                   options.every > 0,
               "budget {}, width {}, keep {}, every {}", options.budget, width, options.keep, options.every);
  std::vector<Search> searches;
  for (const env::Task* task : tasks)
    for (int64_t trial = 0; trial < trials; ++trial) searches.push_back({task, {}});
  std::vector<std::vector<Chain>> chains(searches.size(), std::vector<Chain>(size_t(width)));
  const int64_t answers = int64_t(searches.size()) * width;
  rollout.options.turns = 1;

  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<RolloutRequest> requests;
    for (size_t s = 0; s < searches.size(); ++s)
      for (const Chain& chain : chains[s])
        requests.push_back({searches[s].task, 1, best_turns(chain, options.shown)});
    const Batch batch = rollout.run(round, requests, [&](int64_t done, int64_t) {
      if (progress) progress(round * answers + done, rounds * answers);
    });
    record(batch);
    for (size_t i = 0; i < requests.size(); ++i) {
      const Trajectory& trajectory = batch.groups[i].samples[0];
      Chain& chain = chains[i / size_t(width)][i % size_t(width)];
      const env::Verdict& verdict = trajectory.turns.back().verdict;
      searches[i / size_t(width)].verdicts.push_back(verdict);
      if (verdict.infra()) continue;
      chain.turns.push_back(last_turn(trajectory));
      chain.standings.push_back(standing(verdict, value(verdict)));
    }
    if (options.keep < width && (round + 1) % options.every == 0)
      for (auto& of_search : chains) select(of_search, options.keep);
  }
  return searches;
}

}  // namespace temper::rollout
