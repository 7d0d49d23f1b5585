#pragma once
// A whole answer of the policy: its reasoning, a plan in prose, a code block.

#include <string>
#include <string_view>

namespace temper {

struct Answer {
  bool ok = false;
  std::string reason;  // why not: unclosed_reasoning, no_code_block, unclosed_code_block, empty_code_block
  std::string code;    // between the fences
  size_t code_begin = 0, code_end = 0;  // byte range of the whole block in the text, fences included
};

// Finds the code of an answer, in time linear in its length.
//
// What stands in front of the last `</think>` is reasoning: drafts in it are no answer. A `<think>` behind it
// that stands outside a code block never closes, so that there is no answer. With `inside_reasoning` the
// prompt has already opened `<think>`: a text without `</think>` is reasoning alone.
//
// Behind the reasoning the last code block counts, as KernelBench and Kevin count. Fences are CommonMark's
// (0.31.2, section 4.5): three or more ` or ~, up to three spaces in front of them, which code lines lose,
// too; behind them any words, but no ` behind `. A line with as many or more of the same character and
// nothing else closes the block. Lists and quotations are not known: a fence that is indented for them by
// four spaces or more is none.
//
// Not by a parser of all of CommonMark (md4c): it tells neither whether a block was closed nor where its
// fences lie, takes fences in quotations and lists for blocks, and needs seconds for a megabyte of links and
// their definitions.
Answer extract_code(std::string_view text, bool inside_reasoning = false);

}  // namespace temper
