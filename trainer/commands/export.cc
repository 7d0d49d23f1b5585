#include <filesystem>
#include <memory>

#include "base/error.h"
#include "policy/hugging_face.h"
#include "trainer/commands/commands.h"
#include "trainer/model.h"

namespace temper {
namespace {

int run_export(const std::string& checkpoint, const std::string& dir) {
  if (std::filesystem::exists(dir))
    throw ConfigError("export: {} exists already; choose a new directory", dir);
  const Model model = load_model(checkpoint);
  export_hugging_face(model.policy, model.tokenizer, dir);
  fmt::print("{}: {} parameters, {} tokens\n", dir, model.policy.config().parameter_count(),
             model.tokenizer.vocab_size());
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("export", "check a checkpoint and write it as a Hugging Face directory");
  const auto checkpoint = std::make_shared<std::string>(), dir = std::make_shared<std::string>();
  command->add_option("checkpoint", *checkpoint, "RUN/checkpoints/NAME")->required();
  command->add_option("dir", *dir, "directory to write; must not exist")->required();
  command->callback([=, &exit_code] { exit_code = run_export(*checkpoint, *dir); });
}

}  // namespace temper
