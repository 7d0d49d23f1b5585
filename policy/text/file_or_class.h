#pragma once
// Whether ids follow tokenizer.json or the class that transformers takes for its folder.
//
// transformers 5 has classes that take no more than pieces and merges from the file and have all else of their own. For the
// published folders of Qwen both are the same. For others the class drops what the model was trained with: GPT2Tokenizer
// SmolLM2's Digits, and the Split of Granite and OLMo. There the file counts, as it does for `tokenizers`, for
// transformers 4 and for llama.cpp. What the classes of Llama have of their own is where a space comes before a text, by
// `legacy` and `add_prefix_space` of tokenizer_config.json. Where the file says no more than that, the class counts.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policy/text/folder_tokens.h"
#include "policy/text/pieces/added_tokens.h"
#include "policy/text/pieces/normalizer.h"
#include "policy/text/pieces/pre_tokenizer.h"

namespace temper::policy {

class FileOrClass {
 public:
  // `folder` may be null: then there is no class. All must outlive this. Errors: ConfigError naming `origin` where the
  // file's normalizer or pre_tokenizer counts and is not supported.
  FileOrClass(const nlohmann::json& json, const std::string& origin, const FolderTokens* folder);

  bool bytes() const { return bytes_; }     // pieces are of bytes; else of characters
  bool by_class() const { return class_; }  // the class counts
  Normalizer normalizer() const;
  PreTokenizer pre_tokenizer() const;

  // Whether the class, counting or not, is one for these pieces: what it adds can be compared.
  bool comparable() const { return folder_ && folder_->rebuilds(bytes_); }
  // A line where the one that does not count says something else, and can give other ids; none where both are the same. `unknown`: pieces of bytes lack
  // some, and the file has a token for them. The tokens are those that either adds.
  std::vector<std::string> remarks(bool unknown, const AddedTokens& of_file,
                                   const AddedTokens& of_class) const;

 private:
  bool places_spaces_alone() const;
  bool places_spaces_alike() const;
  std::vector<std::string> other_fields(bool unknown) const;

  const nlohmann::json& json_;
  const std::string& origin_;
  const FolderTokens* folder_;
  const bool bytes_, class_;
};

}  // namespace temper::policy
