#pragma once
// What is done to a text before its pieces are looked for.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/pieces/text_range.h"

namespace temper::policy {

// Where a part of a text stands.
struct Place {
  bool first = false;   // it begins the text
  bool joined = false;  // it goes on from what is before it: nothing is put in front
};

// A normalizer of tokenizer.json: normal forms, replacements, a text in front, white space cut off.
//
// Source: `tokenizers` 0.23, src/normalizers.
class Normalizer {
 public:
  Normalizer() = default;
  // Errors: ConfigError naming `origin`, the field and what is supported.
  Normalizer(const nlohmann::json& json, const std::string& origin);

  // Returns `text`, or its normal form kept in `buffer`. `text`: valid UTF-8. `origins`: where not null, becomes the
  // byte of `text` that each byte of the result comes from, and the length of `text` behind them.
  std::string_view apply(std::string_view text, Place& place, std::string& buffer,
                         std::vector<size_t>* origins = nullptr) const;
  // Whether every text comes out as it went in, whatever its place.
  bool empty() const { return steps_.empty(); }
  // A name, as `tokenizers` normalises it to look for it.
  std::string of_name(const std::string& name) const;
  // The same steps.
  bool operator==(const Normalizer&) const = default;

  static Normalizer composing();  // NFC

 private:
  enum class Kind { kNormalForm, kReplace, kPrepend, kStrip };
  struct Step {
    Kind kind;
    int form = 0;          // of a normal form, utf8proc's options
    std::string from, to;  // of a replacement; `to` also of a text in front
    bool left = false, right = false;
    bool operator==(const Step&) const = default;
  };
  struct Work;

  void add(const nlohmann::json& json, const std::string& origin);
  static void run(const Step& step, Work& work);

  std::vector<Step> steps_;
};

}  // namespace temper::policy
