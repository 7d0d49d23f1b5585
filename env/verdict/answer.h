#pragma once
// A whole answer of the policy: its reasoning, a plan in prose, code blocks.

#include <string>
#include <string_view>

#include "env/verdict/verdict.h"

namespace temper::env {

struct Answer {
  bool ok = false;
  std::string reason;  // why not: unclosed_reasoning, no_code_block, unclosed_code_block, empty_code_block
  std::string code;    // between the fences
  size_t code_begin = 0, code_end = 0;  // byte range of the whole block in the text, fences included
  size_t block = 0, blocks = 0;         // the block's number, from 1, of so many that are not empty
  bool closed = true;                   // by a fence
};

// Finds the code of an answer, in time linear in its length (env/verdict/code_blocks.h says what a block is).
//
// `language`: the name of one (env/languages/language.h), or "". The last block in it that defines what its candidates must define is the answer: blocks with a call of it, output, a
// shell's commands or a diff may follow. If no block in that language does, it is the last block that does at all, and else the
// last block, as it is without a language. A block that is not closed counts only if it defines that.
//
// A full CommonMark parser (md4c) is not used because it reports neither whether a block was closed nor where
// its fences are, and takes seconds for a megabyte of links and their definitions.
Answer extract_code(std::string_view text, const std::string& language = "", bool inside_reasoning = false);

// "code block 1 of 3" where it is not the last of several, "code block 1, which is not closed"; else "".
std::string block_words(const Answer& answer);

// The verdict, whose message says first which block it is about, if there are such words.
Verdict about_block(Verdict verdict, const std::string& words);

}  // namespace temper::env
