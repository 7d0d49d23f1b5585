#include <nlohmann/json.hpp>

#include "policy/text/tokenizer_files.h"

namespace temper::policy {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Below any sum of real pieces: text that spells a special or byte piece is never taken for it.
constexpr double kNeverScore = -1e6;

OrderedJson added_token(int64_t id, const std::string& text) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// A unigram model over the raw text, spaces as they are: no normaliser, nothing to undo but the bytes.
OrderedJson tokenizer_json(const std::vector<Piece>& pieces) {
  OrderedJson vocab = OrderedJson::array(), added = OrderedJson::array();
  for (size_t id = 0; id < pieces.size(); ++id) {
    const Piece& piece = pieces[id];
    vocab.push_back({piece.text, piece.special || piece.byte ? kNeverScore : double(piece.score)});
    if (piece.special) added.push_back(added_token(int64_t(id), piece.text));
  }
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}, {"byte_fallback", true}}}};
}

}  // namespace

// ChatML, as policy/chat/chat_format.h writes it.
const char* const kOwnChatTemplate =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

std::map<std::string, std::string> hugging_face_tokenizer_files(const std::vector<Piece>& pieces) {
  const OrderedJson special = {
      {"unk_token", "<unk>"}, {"eos_token", "<|im_end|>"}, {"pad_token", "<|endoftext|>"}};
  OrderedJson config = special;
  config["tokenizer_class"] = "PreTrainedTokenizerFast";
  config["clean_up_tokenization_spaces"] = false;
  config["chat_template"] = kOwnChatTemplate;
  return {{"tokenizer.json", tokenizer_json(pieces).dump(1)},
          {"tokenizer_config.json", config.dump(2) + "\n"},
          {"special_tokens_map.json", special.dump(2) + "\n"}};
}

}  // namespace temper::policy
