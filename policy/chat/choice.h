#pragma once
// Which layout a model's conversations are written in.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "policy/chat/chat_layout.h"
#include "policy/chat/renderer.h"
#include "policy/text/tokenizer.h"

namespace temper::policy {

struct ChatSource {
  std::string format = "auto";   // or a known layout's name
  std::string arguments = "{}";  // for the template, a JSON object
  std::string date = "";  // YYYY-MM-DD for the template's clock; empty: today, or that of a kept layout
  const ChatRenderer* renderer = nullptr;  // null: templates cannot be run
};

// The folder's template with the arguments and the date of `source`; nothing: it has none.
std::optional<ChatTemplate> template_of(const Tokenizer& tokenizer, const ChatSource& source);

// Sets tokenizer.chat and marks the layout's tokens, so that no content becomes one. One that is set already is kept where
// it was read off the same template, arguments and date. auto: the folder's template decides; where there is none, its
// special tokens. Returns what is to be said, a line each. Errors: ConfigError naming the way out if the template cannot be
// followed, or cannot be run here and is not known, and if an argument has a name that apply_chat_template has for itself.
std::vector<std::string> choose_chat(Tokenizer& tokenizer, const ChatSource& source);

// The same with a layout that was chosen elsewhere. Errors: ConfigError if the tokenizer lacks a token of it.
void use_layout(Tokenizer& tokenizer, ChatLayout layout);

// A checkpoint keeps the layout beside the tokenizer's files, so that it can be used where templates cannot be run. A folder
// from elsewhere is not asked for one: it says what its template does, and that is what counts. Nothing where there is
// none. Errors: WorldError; ConfigError naming the file.
void keep_layout(const Tokenizer& tokenizer, const std::filesystem::path& checkpoint);
void take_kept_layout(Tokenizer& tokenizer, const std::filesystem::path& checkpoint);

// Whether the folder's chat template is another text than the one among the tokenizer's files. false if it cannot be read.
bool has_other_template(const std::filesystem::path& dir, const Tokenizer& tokenizer);

// Whether the folder's tokenizer is one that Tokenizer::train() made: its chat template is Temper's own.
bool has_own_tokenizer(const std::filesystem::path& dir);

// Tries the chosen layout on these conversations too, where it was read off a template and templates can be run here.
// Returns and errors: as above.
std::vector<std::string> try_chat(Tokenizer& tokenizer, const ChatSource& source,
                                  const std::vector<ChatQuestion>& questions);

}  // namespace temper::policy
