#pragma once
// Text → the pieces inside which byte-pair encoding merges.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/pieces/normalizer.h"
#include "policy/text/pieces/text_splitter.h"

namespace temper::policy {

enum class PrependScheme { kNever, kFirst, kAlways };

// A pre-tokenizer of tokenizer.json, or a sequence of them.
//
// Source: `tokenizers` 0.23, src/pre_tokenizers.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  // Errors: ConfigError naming `origin`, the field and what is supported.
  PreTokenizer(const nlohmann::json& json, const std::string& origin);

  // Sentencepiece's: spaces become U+2581, one of which comes before the text as the scheme says.
  static PreTokenizer metaspace(PrependScheme scheme);
  // A pattern, where there is one, and then bytes; without one the bytes' own pattern.
  static PreTokenizer byte_level(std::optional<std::string_view> pattern, bool add_prefix_space);

  using Take = std::function<void(std::string_view piece)>;
  // `text`: valid UTF-8 that is normalised.
  void each(std::string_view text, Place place, const Take& take) const { run(0, text, place, take); }
  // Whether pieces are of bytes; else they are of characters.
  bool byte_level() const { return byte_level_; }
  // The same steps: every text is cut at the same places.
  bool operator==(const PreTokenizer&) const = default;

 private:
  enum class Behavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };
  struct Step {
    std::optional<TextSplitter> splitter;
    Behavior behavior = Behavior::kIsolated;
    bool invert = false;
    std::string space;   // what a space becomes; "": stays
    std::string prefix;  // what comes before a text that does not begin with it
    PrependScheme scheme = PrependScheme::kNever;
    bool operator==(const Step&) const = default;
  };

  void add(const nlohmann::json& json, const std::string& origin);
  void add_split(const nlohmann::json& json, const std::string& origin);
  void add_metaspace(const nlohmann::json& json, const std::string& origin);
  void add_byte_level(bool add_prefix_space, bool use_regex);
  void run(size_t step, std::string_view text, Place place, const Take& take) const;
  void split(size_t step, std::string_view text, Place place, const Take& take) const;
  static Behavior behavior_of(const nlohmann::json& json, const std::string& origin);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace temper::policy
