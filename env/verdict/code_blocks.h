#pragma once
// The fenced code blocks of an answer, as models write them.

#include <string>
#include <string_view>
#include <vector>

namespace temper::env {

struct CodeBlock {
  size_t begin = 0, end = 0;            // byte range in the text, fences included
  size_t code_begin = 0, code_end = 0;  // without them
  size_t indent =
      0;  // characters that the opening line has before its fence: of each line as many are no code
  bool quoted = false;    // they may be those of a quotation: '>'
  std::string word = {};  // what the fence says, in lower case: "cpp", "" or any word
  bool closed = true;     // by a fence of its own
};

struct CodeBlocks {
  std::vector<CodeBlock> blocks;
  bool reasoning = false;  // the text ends in reasoning that never closes
};

// In time linear in the text.
//
// Reasoning stands between `<think>`, at the begin of a line, and `</think>`. Blocks in it do not count, nor do those in front of a
// `</think>`. With `inside_reasoning` the prompt has already opened `<think>`. In a block `</think>` ends reasoning only at
// the begin of a line: a comment may name the tag.
//
// A fence is one of CommonMark (0.31.2, section 4.5): three or more ` or ~, and a line of at least as many closes the block. What
// models write besides is understood, too:
//   - any indentation, list markers, quotations, and characters without width in front of a fence;
//   - an opening fence behind words, if a known language follows it and nothing else;
//   - words behind a closing fence; a closing fence right behind code;
//   - a fence with a known language inside a block that is still open, which that fence ends;
//   - a block of Markdown around others, which counts for nothing;
//   - fences in a comment of the code.
CodeBlocks find_code_blocks(std::string_view text, bool inside_reasoning);

// Whether a word behind a fence is one that languages and outputs are called by.
bool is_known_fence_word(std::string_view word);

// The code of a block, without what stands in front of the fence.
std::string code_of(std::string_view text, const CodeBlock& block);

}  // namespace temper::env
