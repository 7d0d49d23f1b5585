#pragma once
// The files from which a Tokenizer is made and to which it is written.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/text/sentence_pieces.h"

namespace temper::policy {

inline constexpr const char* kSpecialTokens[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};

// A serialized sentencepiece model: pieces found by BPE, cut as a unigram model. (A unigram model's own
// search for pieces finds few in texts that repeat whole lines: 132 tokens an answer where BPE's pieces
// give 37.) Scores are multiples of 1/64 nat: their sums are exact in f32 up to 2^18 nats, so that every
// implementation, f32 or f64, cuts a text at the same places. Fewer pieces than asked where the texts do not
// have as many. Errors: ConfigError if `vocab_size` does not hold the bytes, special tokens and characters.
std::string train_model(const std::vector<std::string>& texts, int64_t vocab_size);

// tokenizer.json, tokenizer_config.json and special_tokens_map.json, as name → content. `tokenizers` and transformers
// produce the same ids from them, except that they recognise special tokens in plain text unless
// split_special_tokens is set, as they do for all tokenizers.
std::map<std::string, std::string> hugging_face_tokenizer_files(const std::vector<Piece>& pieces);

extern const char* const kOwnChatTemplate;  // among these files

}  // namespace temper::policy
