#pragma once
// What the files beside a vocabulary say of its tokens, and what transformers makes of that.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/pieces/added_tokens.h"
#include "policy/text/pieces/pre_tokenizer.h"

namespace temper::policy {

// An added token of tokenizer.json or tokenizer_config.json, without its id. Errors: ConfigError beginning with `where` if
// it has no content, or a flag that is neither true nor false.
AddedToken read_added_token(const nlohmann::json& token, const std::string& where);

// tokenizer_config.json, special_tokens_map.json and added_tokens.json, and the type of the model in config.json.
// transformers chooses a class by them. Some classes take pieces and merges alone from tokenizer.json and have all else
// of their own: policy/text/file_or_class.h says which one counts.
//
// Source: AutoTokenizer, TokenizersBackend and its classes LlamaTokenizer, CodeLlamaTokenizer, Qwen2Tokenizer,
// Qwen3_5Tokenizer and GPT2Tokenizer of transformers 5.17 | a class of the other alphabet than tokenizer.json's (bytes or
// characters) is taken for none, since it would lose most of a text; names that are no pieces get no new ids, for which a
// model has no rows.
class FolderTokens {
 public:
  using Files = std::map<std::string, std::string>;

  // `json_tokens`: those that tokenizer.json lists. Errors: ConfigError naming the file in `dir`, the field and what is
  // supported.
  FolderTokens(const Files& files, const std::string& dir, const nlohmann::json& model_config,
               std::vector<AddedToken> json_tokens);

  // The class, where it takes pieces and merges alone from tokenizer.json; else empty.
  std::string class_name() const;
  // Whether it does so of a tokenizer.json whose pieces are of bytes, or of characters.
  bool rebuilds(bool bytes) const;
  // Then it is one of these. Pieces of bytes: whether it normalises to NFC, its pattern (none: that of bytes), and whether
  // a space comes before a text.
  bool composes() const;
  std::optional<std::string_view> pattern() const;
  bool add_prefix_space() const;
  // Pieces of characters: where a space comes before a text, and the token for what is unknown.
  PrependScheme prepend_scheme() const;
  const nlohmann::json& unknown_token() const;

  // Adds the tokens that transformers adds. `rebuilt`: the class itself does; it knows some names of its own.
  void add_to(AddedTokens& tokens, bool rebuilt) const;

 private:
  enum class Class { kNone, kLlama, kCodeLlama, kQwen2, kQwen35, kGpt2 };
  // A token by its name alone, or with flags.
  struct Named {
    AddedToken token;
    bool bare = false;
    bool extra = false;  // one of a list, without a name for what it is
  };

  static const std::map<std::string, Class>& classes();
  Class class_of(const std::string& name) const;
  Class chosen_class(const nlohmann::json& model_config) const;
  void take_listed(const Files& files, const std::string& dir, const std::vector<AddedToken>& json_tokens);
  void take_map(const nlohmann::json& map, const std::string& where);
  void take_added(const nlohmann::json& json, const std::string& where);
  void take_names(const std::string& where);
  Named named(const nlohmann::json& value, const std::string& where) const;
  std::vector<Named> names_with_defaults() const;
  bool is_flagged(const std::string& name) const;

  nlohmann::json config_ = nlohmann::json::object();  // with what special_tokens_map.json adds
  std::string where_;                                 // tokenizer_config.json
  Class class_ = Class::kNone;
  std::map<int64_t, AddedToken> listed_;  // by the id that a file gives
  std::vector<Named> names_;              // bos_token and the like, and the extra ones
};

}  // namespace temper::policy
