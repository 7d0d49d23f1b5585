#pragma once
// A byte-level tokenizer.json of 262 tokens, for tests.

#include <nlohmann/json.hpp>
#include <string>

namespace temper::policy {

inline std::string utf8(int point) {
  if (point < 0x80) return {char(point)};
  return {char(0xC0 | point >> 6), char(0x80 | (point & 63))};
}

// GPT-2's character for a byte.
inline std::string spelled(int byte) {
  int next = 0x100;
  for (int b = 0;; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    const int point = printable ? b : next++;
    if (b == byte) return utf8(point);
  }
}

// The 256 bytes, then "ab", "abc", "bc", " a" and two added tokens. "bc" is merged before "ab".
inline nlohmann::json small_tokenizer_json() {
  using Json = nlohmann::json;
  Json vocab;
  for (int byte = 0; byte < 256; ++byte) vocab[spelled(byte)] = byte;
  int id = 256;
  const std::string space = spelled(' ');
  for (const std::string& piece : {std::string("bc"), std::string("ab"), std::string("abc"), space + "a"})
    vocab[piece] = id++;
  const auto added = [](int number, const char* name, bool special) {
    return Json{{"id", number}, {"content", name}, {"special", special}};
  };
  return {{"added_tokens", {added(260, "<|end|>", true), added(261, "<think>", false)}},
          {"normalizer", {{"type", "NFC"}}},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocab},
            {"merges", {"b c", "a b", Json::array({"ab", "c"}), Json::array({"a", "bc"}), space + " a"}}}}};
}

}  // namespace temper::policy
