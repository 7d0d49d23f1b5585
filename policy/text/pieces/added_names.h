#pragma once
// Texts in which the names of added tokens stand for the tokens.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/pieces/name_finder.h"
#include "policy/text/pieces/text_encoder.h"

namespace temper::policy {

// A tokenizer's added tokens over its encoder.
//
// Source: AddedVocabulary::extract_and_normalize of `tokenizers` 0.23.
class AddedNames {
 public:
  explicit AddedNames(const TokenizerParts& parts);  // which must outlive it

  // The ids of a text. `contents`: of it, the ranges that people or programs wrote, rising and apart.
  std::vector<int32_t> encode(std::string_view text, std::span<const TextRange> contents, Place place) const;
  // How many times `content` names a control token.
  int64_t count_control(std::string_view content) const;

  std::optional<int32_t> find(std::string_view name) const;
  bool is_silent(int32_t id) const { return silent_[size_t(id)]; }  // decoding gives nothing for it
  void mark_control(int32_t id);
  void mark_end(int32_t id) { silent_[size_t(id)] = true; }

 private:
  // A text in work, or a part of one.
  struct Part {
    std::string_view text;
    std::span<const TextRange> contents;
    Place place;
  };
  using Spans = std::vector<TextRange>;
  struct Work {
    std::vector<int32_t>* ids;  // null: names are counted
    int64_t* refused;
  };

  void cut(const NameFinder& names, Part part, Work work, void (AddedNames::*rest)(Part, Work) const) const;
  void encode_bytes(Part part, Work work) const;
  void encode_text(Part part, Work work) const;
  void encode_normal(Part part, Work work) const;

  const TokenizerParts& parts_;
  NameFinder raw_, normalized_;  // names in texts as they are, and in normalised ones
  std::map<std::string, int32_t, std::less<>> ids_;
  std::vector<bool> control_, silent_;  // by id
  bool guards_normalized_ = false;      // some control token is looked for in normalised text
};

}  // namespace temper::policy
