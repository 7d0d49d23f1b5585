#pragma once
// A whole answer of the policy: a plan in prose, then one code block.

#include <string>
#include <string_view>

namespace temper {

struct Answer {
  bool ok = false;
  std::string reason;  // why not: no_code_block, unclosed_code_block, two_code_blocks, empty_code_block
  std::string code;    // between the fences
  size_t code_begin = 0, code_end = 0;  // byte range of the whole block in the answer, fences included
};

// Finds the code block of an answer: ``` with an optional language word, code, ``` on a line of its own. Two
// blocks of different content are refused; of the same content, the last counts.
Answer extract_code(std::string_view answer);

}  // namespace temper
