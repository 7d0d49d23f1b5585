#pragma once
// What a tokenizer leaves out of the texts that a run learns from.

#include "policy/text/tokenizer.h"

namespace temper::trainer {

// Some published vocabularies lack bytes: SmolLM2's has no token for 21 of them. A text's bytes without a token are left
// out, so that the model neither reads nor writes them.
class LostBytes {
 public:
  // `tokenizer` must outlive it. What was lost before does not count.
  explicit LostBytes(const policy::Tokenizer& tokenizer)
      : tokenizer_(tokenizer), before_(tokenizer.lost_bytes()) {}
  // Warns on the terminal and in the run's log if bytes of `texts` ("the prompts") are lost: once a process.
  void say(const char* texts) const;

 private:
  const policy::Tokenizer& tokenizer_;
  int64_t before_;
};

}  // namespace temper::trainer
