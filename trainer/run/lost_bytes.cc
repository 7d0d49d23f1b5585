#include "trainer/run/lost_bytes.h"

#include <atomic>

#include "trainer/run/terminal.h"

namespace temper::trainer {

void LostBytes::say(const char* texts) const {
  static std::atomic<bool> said = false;
  const int64_t lost = tokenizer_.lost_bytes() - before_;
  if (lost == 0 || said.exchange(true)) return;
  trainer::say(
      "WARNING: the tokenizer has no token for {} bytes of {}; they are left out, as `tokenizers` does, so "
      "that "
      "the model neither reads nor writes them; later ones are not reported",
      lost, texts);
}

}  // namespace temper::trainer
