#pragma once
// A whole answer of the policy: its reasoning, a plan in prose, a code block.

#include <string>
#include <string_view>

namespace temper::env {

struct Answer {
  bool ok = false;
  std::string reason;  // why not: unclosed_reasoning, no_code_block, unclosed_code_block, empty_code_block
  std::string code;    // between the fences
  size_t code_begin = 0, code_end = 0;  // byte range of the whole block in the text, fences included
};

// Finds the code of an answer, in time linear in its length.
//
// Everything before the last `</think>` is reasoning, and drafts in it do not count. If a `<think>` follows it
// outside a code block, the reasoning never closes and the text contains no answer. With `inside_reasoning` the
// prompt has already opened `<think>`, so a text without `</think>` is all reasoning.
//
// After the reasoning the last code block is the answer, as in KernelBench and Kevin. Fences follow CommonMark
// (0.31.2, section 4.5): three or more ` or ~, indented by up to three spaces. Code lines lose the same
// indentation. An info string may follow the opening fence, but contains no ` if the fence is made of `. A line
// that holds at least as many of the same character and nothing else closes the block. Lists and quotations are
// not recognised: a fence that is indented by four spaces or more is not a fence.
//
// A full CommonMark parser (md4c) is not used because it reports neither whether a block was closed nor where
// its fences are, accepts fences in quotations and lists, and takes seconds for a megabyte of links and their
// definitions.
Answer extract_code(std::string_view text, bool inside_reasoning = false);

}  // namespace temper::env
