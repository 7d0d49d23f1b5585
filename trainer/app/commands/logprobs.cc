#include <memory>

#include "base/error.h"
#include "base/input/json.h"
#include "policy/threads.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/config/device.h"
#include "trainer/run/model.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

constexpr const char* kInput = R"(logprobs: the input must be JSON like {"ids": [[1, 2, 3], [4, 5]]})";

std::vector<int32_t> parse_sequence(const Json& json, size_t index, const Model& model) {
  const int64_t most = model.policy.config().max_position_embeddings,
                token_count = model.tokenizer.vocab_size();
  if (!json.is_array()) throw ConfigError(kInput);
  if (json.empty() || int64_t(json.size()) > most)
    throw ConfigError("logprobs: ids[{}] has {} tokens: must be 1 to {}", index, json.size(), most);
  std::vector<int32_t> ids;
  for (const Json& value : json) {
    const int64_t id = whole_number(value).value_or(-1);
    if (id < 0 || id >= token_count)
      throw ConfigError("logprobs: ids[{}] holds {}: must be 0 to {}", index, shown(value), token_count - 1);
    ids.push_back(int32_t(id));
  }
  return ids;
}

std::vector<std::vector<int32_t>> parse_sequences(const std::string& text, const Model& model) {
  const Json json = parse_json(text, fmt::format("{}; it", kInput), kWholeInput);
  const auto list = json.find("ids");
  if (!json.is_object() || list == json.end() || !list->is_array()) throw ConfigError(kInput);
  std::vector<std::vector<int32_t>> sequences;
  for (const Json& one : *list) sequences.push_back(parse_sequence(one, sequences.size(), model));
  return sequences;
}

Json score(policy::Policy& policy, const std::vector<int32_t>& ids, double temperature) {
  policy::PackedTokens tokens{
      .ids = ids, .starts = {0, int32_t(ids.size())}, .scored = std::vector<uint8_t>(ids.size(), 1)};
  tokens.scored[0] = 0;
  const policy::TokenScores scores = policy.forward(tokens, temperature);
  Json row = scores.log_prob;
  row[0] = nullptr;
  return row;
}

int run_logprobs(const std::string& dir, const std::string& input, double temperature,
                 const std::string& device) {
  policy::use_threads(0);
  const std::filesystem::path folder = model_folder(dir, "--model");
  Model model = load_model(folder, use_device(device, folder));
  warn_not_finite(model);
  Json rows = Json::array();
  for (const auto& ids : parse_sequences(read_input(input), model))
    rows.push_back(score(model.policy, ids, temperature));
  fmt::print("{}\n", Json{{"log_probs", rows}}.dump());
  return kExitOk;
}

}  // namespace

void add_logprobs(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("logprobs", R"({"ids": [[…], …]} → {"log_probs": [[null, …], …]}, in nats)");
  const auto model = std::make_shared<std::string>(), input = std::make_shared<std::string>("-");
  const auto device = std::make_shared<std::string>("auto");
  const auto temperature = std::make_shared<double>(1);
  command->add_option("input", *input, "JSON file, or - for standard input")->transform(path_word());
  command->add_option("--model", *model, "Hugging Face directory, a run, or one of its checkpoints")
      ->transform(path_word())
      ->required();
  command->add_option("--device", *device, "auto, cpu, cuda or cuda:N");
  command->add_option("--temperature", *temperature, "divisor of the logits")->check(between(1e-3, 100.0));
  command->callback([=, &exit_code] { exit_code = run_logprobs(*model, *input, *temperature, *device); });
}

}  // namespace temper::trainer
