#include "trainer/checkpoint/evaluations.h"

#include <nlohmann/json.hpp>

namespace temper::trainer {

void to_json(nlohmann::json& json, const Score& s) {
  json = {{"samples", s.samples},
          {"infra", s.infra},
          {"hacks", s.hacks},
          {"correct", s.correct},
          {"fast", s.fast},
          {"raw_correct", s.raw_correct},
          {"raw_fast", s.raw_fast},
          {"reward", s.reward},
          {"speedup", s.speedup},
          {"compiled", s.compiled},
          {"fast_compiled", s.fast_compiled}};
}

void from_json(const nlohmann::json& json, Score& s) {
  json.at("samples").get_to(s.samples);
  json.at("infra").get_to(s.infra);
  json.at("hacks").get_to(s.hacks);
  json.at("correct").get_to(s.correct);
  json.at("fast").get_to(s.fast);
  json.at("raw_correct").get_to(s.raw_correct);
  json.at("raw_fast").get_to(s.raw_fast);
  json.at("reward").get_to(s.reward);
  json.at("speedup").get_to(s.speedup);
  // Younger than some checkpoints:
  s.compiled = json.value("compiled", int64_t{0});
  s.fast_compiled = json.value("fast_compiled", 0.0);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TurnScores, by_turn, last, best, pass_at)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Evaluation, sampled, greedy, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NamedEvaluation, name, evaluation)

nlohmann::json to_json(const std::vector<NamedEvaluation>& evaluations) { return evaluations; }

std::vector<NamedEvaluation> evaluations_from(const nlohmann::json& json) {
  return json.get<std::vector<NamedEvaluation>>();
}

}  // namespace temper::trainer
