#include "trainer/checkpoint/evaluations.h"

#include <nlohmann/json.hpp>

namespace temper {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Score, samples, infra, hacks, correct, fast, raw_correct, raw_fast, reward, speedup)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TurnScores, by_turn, last, best, pass_at)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evaluation, sampled, greedy, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NamedEvaluation, name, evaluation)

nlohmann::json to_json(const std::vector<NamedEvaluation>& evaluations) { return evaluations; }

std::vector<NamedEvaluation> evaluations_from(const nlohmann::json& json) {
  return json.get<std::vector<NamedEvaluation>>();
}

}  // namespace temper
