#pragma once
// The chat template among a tokenizer's files, with all that decides what it renders.

#include <map>
#include <optional>
#include <string>

namespace temper::policy {

struct ChatTemplate {
  std::string text;  // Jinja
  std::map<std::string, std::string>
      tokens;                    // bos_token, eos_token, image_token, …: the names that it may use
  std::string arguments = "{}";  // a JSON object; further names, enable_thinking say
  std::string date = "";         // YYYY-MM-DD, what its clock shows
  std::string unusable = "";     // in words why there is no text: what is there is none that can be run
  // Of text and arguments, and of the date where the text asks for it. Learning may change the names: the token that ends
  // answers is then another one.
  std::string digest() const;
  bool asks_for_date() const;
};

// The one that transformers takes: chat_template.jinja, else that of tokenizer_config.json, where several have names the
// last one called default. `files`: name → content. Nothing: there is none. One that is empty, too large, not UTF-8, no
// text or without a default is unusable, which is an error only for those who want to follow it.
std::optional<ChatTemplate> find_chat_template(const std::map<std::string, std::string>& files);

}  // namespace temper::policy
