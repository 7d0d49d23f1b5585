#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "policy/threads.h"
#include "trainer/commands/commands.h"
#include "trainer/device.h"
#include "trainer/model.h"

namespace temper {
namespace {

using Sequences = std::vector<std::vector<int32_t>>;

Sequences parse_sequences(const std::string& text, const Model& model) {
  const ModelConfig& config = model.policy.config();
  const int64_t token_count = model.tokenizer.vocab_size();
  Sequences sequences;
  try {
    sequences = nlohmann::json::parse(text).at("ids").get<Sequences>();
  } catch (const nlohmann::json::exception&) {
    throw ConfigError(R"(logprobs: the input must be JSON like {"ids": [[1, 2, 3], [4, 5]]})");
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].empty() || int64_t(sequences[i].size()) > config.max_position_embeddings)
      throw ConfigError("logprobs: ids[{}] has {} tokens: must be 1 to {}", i, sequences[i].size(),
                        config.max_position_embeddings);
    for (const int32_t id : sequences[i])
      if (id < 0 || id >= token_count)
        throw ConfigError("logprobs: ids[{}] holds {}: must be 0 to {}", i, id, token_count - 1);
  }
  return sequences;
}

nlohmann::json score(Policy& policy, const std::vector<int32_t>& ids, double temperature) {
  PackedTokens tokens{
      .ids = ids, .starts = {0, int32_t(ids.size())}, .scored = std::vector<uint8_t>(ids.size(), 1)};
  tokens.scored[0] = 0;
  const TokenScores scores = policy.forward(tokens, temperature);
  nlohmann::json row = scores.log_prob;
  row[0] = nullptr;
  return row;
}

int run_logprobs(const std::string& dir, const std::string& input, double temperature,
                 const std::string& device) {
  use_threads(0);
  const std::filesystem::path folder = model_folder(dir, "--model");
  Model model = load_model(folder, use_device(device, folder));
  warn_not_finite(model);
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& ids : parse_sequences(read_input(input), model))
    rows.push_back(score(model.policy, ids, temperature));
  fmt::print("{}\n", nlohmann::json{{"log_probs", rows}}.dump());
  return kExitOk;
}

}  // namespace

void add_logprobs(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("logprobs", R"({"ids": [[…], …]} → {"log_probs": [[null, …], …]}, in nats)");
  const auto model = std::make_shared<std::string>(), input = std::make_shared<std::string>("-");
  const auto device = std::make_shared<std::string>("auto");
  const auto temperature = std::make_shared<double>(1);
  command->add_option("input", *input, "JSON file, or - for standard input");
  command->add_option("--model", *model, "Hugging Face directory, a run, or one of its checkpoints")
      ->required();
  command->add_option("--device", *device, "auto, cpu, cuda or cuda:N");
  command->add_option("--temperature", *temperature, "that logits are divided by")
      ->check(between(1e-3, 100.0));
  command->callback([=, &exit_code] { exit_code = run_logprobs(*model, *input, *temperature, *device); });
}

}  // namespace temper
