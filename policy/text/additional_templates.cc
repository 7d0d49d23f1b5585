#include "policy/text/additional_templates.h"

#include <nlohmann/json.hpp>

#include "base/input/file.h"
#include "base/input/json.h"

namespace temper::policy {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void take_additional_templates(const fs::path& dir, uint64_t most_bytes,
                               std::map<std::string, std::string>& files) {
  constexpr const char *template_file = "chat_template.jinja", *config_file = "tokenizer_config.json";
  std::error_code error;
  std::map<std::string, std::string> named;
  for (const auto& entry : fs::directory_iterator(dir / "additional_chat_templates", error))
    if (entry.path().extension() == ".jinja")
      named[entry.path().stem().string()] = read_input_file(entry.path(), most_bytes);
  if (named.empty()) return;
  if (const auto found = named.find("default"); found != named.end()) files[template_file] = found->second;
  if (files.contains(template_file)) return;
  Json listed = Json::array();
  for (const auto& [name, text] : named) listed.push_back({{"name", name}, {"template", text}});
  const auto config = files.try_emplace(config_file, "{}").first;
  Json settings = parse_json_object(config->second, (dir / config_file).string());
  settings["chat_template"] = std::move(listed);
  config->second = settings.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace temper::policy
