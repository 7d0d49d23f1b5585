#include <filesystem>
#include <memory>

#include "base/error.h"
#include "policy/chat/choice.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/hugging_face.h"
#include "trainer/app/chat/template_renderer.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/run/console.h"
#include "trainer/run/model.h"

namespace temper::trainer {
namespace {

struct ExportWords {
  std::string checkpoint, dir;
  policy::ExportOptions options;
};

int say_exported(const std::string& dir, const policy::ModelConfig& config,
                 const policy::Tokenizer& tokenizer) {
  fmt::print("{}: {} parameters, {} tokens\n", dir, config.parameter_count(), tokenizer.vocab_size());
  return kExitOk;
}

// RUN/checkpoints/final or cold_start.
bool is_of_run(const std::filesystem::path& folder) {
  return std::filesystem::absolute(folder / ".").lexically_normal().parent_path().parent_path().filename() ==
         "checkpoints";
}

// Of a folder from elsewhere it is enough to know which tokens end its turns, and where that is not known it says it itself.
void decide_ends(policy::Tokenizer& tokenizer, const std::filesystem::path& from) {
  if (is_of_run(from)) policy::take_kept_layout(tokenizer, from);
  const policy::ChatSource chat{.renderer = &chat_renderer()};
  if (!tokenizer.chat) try {
      policy::choose_chat(tokenizer, chat);
    } catch (const ConfigError&) {
    }
}

// File to file: the weights of a Hugging Face directory may be more than the memory holds.
int copy_folder(const std::filesystem::path& from, const std::string& dir, policy::ExportOptions options) {
  policy::check_model_folder(from);
  policy::Tokenizer tokenizer = policy::Tokenizer::load(from);
  say_remarks(tokenizer);
  decide_ends(tokenizer, from);
  options.origin = policy::read_origin(from);
  options.taught = is_of_run(from);
  if (options.dtype.empty()) options.dtype = options.origin.dtype;
  if (const policy::NotFinite found = policy::copy_hugging_face(from, tokenizer, dir, options);
      found.count > 0)
    say_beside(fmt::format("WARNING: {}", policy::to_text(found)));
  return say_exported(dir, policy::read_model_config(from), tokenizer);
}

// In the dtype of the folder that the model came from, whatever it learned in.
int run_export(const ExportWords& words) {
  const auto& [checkpoint, dir, given] = words;
  policy::ExportOptions options = given;
  if (std::filesystem::exists(dir))
    throw ConfigError("export: {} exists already; choose a new directory", dir);
  const std::filesystem::path folder = model_folder(checkpoint, "export");
  if (!is_checkpoint(folder)) return copy_folder(folder, dir, options);
  Model model = load_model(folder);
  if (!model.tokenizer.chat) decide_ends(model.tokenizer, folder);
  warn_not_finite(model);
  options.origin = model.origin;
  options.taught = true;
  if (options.dtype.empty()) options.dtype = options.origin.dtype;
  policy::export_hugging_face(model.policy, model.tokenizer, dir, options);
  return say_exported(dir, model.policy.config(), model.tokenizer);
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("export", "check a checkpoint and write it as a Hugging Face directory");
  const auto words = std::make_shared<ExportWords>();
  command->add_option("checkpoint", words->checkpoint, "a run, or RUN/checkpoints/NAME")
      ->transform(path_word())
      ->required();
  command->add_option("dir", words->dir, "directory to write; must not exist")
      ->transform(path_word())
      ->required();
  command
      ->add_option(
          "--dtype", words->options.dtype,
          "type in which the weights are stored; default: that of the model that training began from")
      ->check(one_of({"float32", "bfloat16", "float16", "float64"}));
  command->callback([=, &exit_code] { exit_code = run_export(*words); });
}

}  // namespace temper::trainer
