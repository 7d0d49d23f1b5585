#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/rng.h"
#include "policy/chat/chat_format.h"
#include "policy/chat/choice.h"
#include "policy/threads.h"
#include "rollout/conversation.h"
#include "rollout/generator.h"
#include "trainer/app/chat/template_renderer.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/config/device.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/model.h"

namespace temper::trainer {
namespace {

struct GenerateWords {
  std::string model, prompt, task, device = "auto", chat = "auto", chat_arguments = "{}";
  ConfigWords config;
  policy::SamplingParams sampling;
  int64_t max_tokens = 256, samples = 1;
  uint64_t seed = 1;
};

std::vector<int32_t> prompt_ids(const GenerateWords& words, const policy::ChatFormat& format) {
  if (words.task.empty() == words.prompt.empty())
    throw ConfigError("generate: give either a prompt or --task NAME");
  if (words.task.empty()) return format.first_turn(words.prompt == "-" ? read_input("-") : words.prompt);
  const RunConfig config = words.config.read(words.model);
  return rollout::opening_ids(format, config.rollout.context.prompt,
                              in_language_of(config, env::find_task(load_all_tasks(config), words.task)));
}

std::vector<std::string> generate(Model& model, const GenerateWords& words) {
  const policy::ChatFormat format(model.tokenizer);
  const std::vector<int32_t> ids = prompt_ids(words, format);
  const int64_t room = model.policy.config().max_position_embeddings - int64_t(ids.size());
  if (room <= 0)
    throw ConfigError("generate: the prompt has {} tokens and the model {} positions", ids.size(),
                      model.policy.config().max_position_embeddings);
  const int64_t new_tokens = std::min(words.max_tokens, room);
  rollout::Generator generator(model.policy, std::min<int64_t>(words.samples, 64),
                               int64_t(ids.size()) + new_tokens);
  for (int64_t sample = 0; sample < words.samples; ++sample)
    generator.add({.id = uint64_t(sample),
                   .rng_key = mix_key({words.seed, uint64_t(sample)}),
                   .ids = ids,
                   .sampling = words.sampling,
                   .max_new_tokens = new_tokens,
                   .stop_ids = format.stop_ids()});
  std::vector<std::string> answers(size_t(words.samples));
  while (!generator.idle()) {
    throw_if_interrupted();
    for (const rollout::Generation& done : generator.step())
      answers[done.id] = model.tokenizer.decode(done.ids);
  }
  return answers;
}

int run_generate(const GenerateWords& words) {
  policy::use_threads(0);
  const std::filesystem::path folder = model_folder(words.model, "--model");
  const policy::ChatSource chat{
      .format = words.chat, .arguments = words.chat_arguments, .renderer = &chat_renderer()};
  Model model = load_model(folder, use_device(words.device, folder), &chat);
  warn_not_finite(model);
  const auto answers = generate(model, words);
  for (size_t i = 0; i < answers.size(); ++i)
    fmt::print("{}{}\n", answers.size() > 1 ? fmt::format("--- sample {}\n", i) : "", answers[i]);
  return kExitOk;
}

}  // namespace

void add_generate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("generate", "answer a prompt, or a task");
  const auto words = std::make_shared<GenerateWords>();
  command->add_option("prompt", words->prompt, "the user's message, or -");
  command->add_option("--model", words->model, "Hugging Face directory, a run, or one of its checkpoints")
      ->transform(path_word())
      ->required();
  command->add_option("--device", words->device, "auto, cpu, cuda or cuda:N");
  command
      ->add_option(
          "--chat", words->chat,
          fmt::format("how conversations are written: {}", fmt::join(policy::ChatFormat::names(), ", ")))
      ->capture_default_str();
  command->add_option(
      "--chat-arguments", words->chat_arguments,
      "further names for the model's chat template, a JSON object: {\"enable_thinking\": false}");
  command->add_option("--task", words->task, "ask this task instead");
  command->add_option("--set", words->config.overrides, "options, as key=value (tasks.path)");
  command->add_option("--temperature", words->sampling.temperature, "sampling temperature; 0 for greedy")
      ->check(between(0.0, 100.0));
  command
      ->add_option("--top-p", words->sampling.top_p,
                   "sample from the most likely tokens with this total probability; 1 for all")
      ->check(between(0.0, 1.0));
  command->add_option("--top-k", words->sampling.top_k, "sample from this many most likely tokens; 0 for all")
      ->check(at_least(0));
  command->add_option("--max-tokens", words->max_tokens, "largest length of an answer")->check(at_least(1));
  command->add_option("--samples", words->samples, "number of answers")->check(between(1, 100000));
  command->add_option("--seed", words->seed, "seed of sampling");
  command->callback([=, &exit_code] { exit_code = run_generate(*words); });
}

}  // namespace temper::trainer
