#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/input/wrapped.h"
#include "policy/chat/chat_format.h"
#include "trainer/app/chat/template_renderer.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/commands/model_page.h"
#include "trainer/app/help.h"

namespace temper::trainer {
namespace {

constexpr size_t kNameColumns = 12;

struct ModelWords {
  std::string dir, chat = "auto", chat_arguments = "{}";
  bool json = false;
};

bool usable(const std::vector<ModelPart>& page) {
  return std::ranges::all_of(page, [](const ModelPart& part) { return part.refused.empty(); });
}

nlohmann::json json_of(const std::vector<ModelPart>& page) {
  nlohmann::json json = {{"usable", usable(page)}, {"refused", nlohmann::json::object()}};
  for (const ModelPart& part : page) {
    if (!part.facts.is_null()) json[part.name] = part.facts;
    if (!part.refused.empty()) json["refused"][part.name] = part.refused;
  }
  return json;
}

void print(const ModelPart& part) {
  std::string text = part.found;
  if (!part.refused.empty()) text += (text.empty() ? "REFUSED: " : "\nREFUSED: ") + part.refused;
  fmt::print("{:<{}}{}\n", part.name, kNameColumns,
             wrapped(text, terminal_width(), kNameColumns, kNameColumns));
}

int run_model(const ModelWords& words) {
  const std::vector<ModelPart> page = read_model_page(
      model_folder(words.dir, "model"),
      {.format = words.chat, .arguments = words.chat_arguments, .renderer = &chat_renderer()});
  if (words.json)
    fmt::print("{}\n", json_of(page).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    for (const ModelPart& part : page) print(part);
  return usable(page) ? kExitOk : kExitUser;
}

}  // namespace

void add_model(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "model", "what is understood of a model's folder, what is refused, and which GPUs it fits");
  const auto words = std::make_shared<ModelWords>();
  command->add_option("dir", words->dir, "Hugging Face directory, a run, or one of its checkpoints")
      ->transform(path_word())
      ->required();
  command->add_flag("--json", words->json, "as JSON");
  command
      ->add_option("--chat", words->chat,
                   "how conversations are written, if not as the folder's chat template says")
      ->check(one_of(policy::ChatFormat::names()));
  command->add_option(
      "--chat-arguments", words->chat_arguments,
      "further names for the model's chat template, a JSON object: {\"enable_thinking\": false}");
  command->callback([=, &exit_code] { exit_code = run_model(*words); });
}

}  // namespace temper::trainer
