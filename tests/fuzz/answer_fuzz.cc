#include "env/verdict/answer.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(answer) {
  for (const char* language : {"cpp", "triton"}) {
    const Answer answer = extract_code(bytes, language);
    TEMPER_CHECK(answer.ok == answer.reason.empty());
    TEMPER_CHECK(answer.code_begin <= answer.code_end && answer.code_end <= bytes.size());
    TEMPER_CHECK(answer.block <= answer.blocks && answer.code.size() <= answer.code_end - answer.code_begin);
  }
  for (const bool inside : {false, true}) {
    const Answer answer = extract_code(bytes, "", inside);
    TEMPER_CHECK(answer.ok == answer.reason.empty());
    TEMPER_CHECK(answer.code_begin <= answer.code_end && answer.code_end <= bytes.size());
    if (!answer.ok) continue;
    TEMPER_CHECK(!answer.code.empty() && answer.code.size() < answer.code_end - answer.code_begin);
    if (!answer.closed) continue;
    // The block alone is the same answer.
    const Answer again = extract_code(bytes.substr(answer.code_begin, answer.code_end - answer.code_begin));
    TEMPER_CHECK(again.ok && again.code == answer.code);
  }
}

}  // namespace temper::env
