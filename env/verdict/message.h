#pragma once
// The message that the policy reads after its answer. It is short, plain and bounded, and nothing in it can be
// mistaken for a chat token.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "env/call/case.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

inline constexpr size_t kMaxMessageBytes = 400;

// The worst element of a wrong output.
struct Mismatch {
  std::string tensor;
  std::vector<int64_t> index;
  double got = 0, expected = 0;
  bool unwritten = false;  // `got` is what the judge had put there
  int64_t wrong = 0, elements = 0;
};
// Finds the element with the flat index `index` in the output `tensor` of `task` at `shape`.
Mismatch locate_mismatch(const Task& task, const Shape& shape, int64_t tensor, int64_t index);

std::string element_text(const Mismatch& mismatch);  // "y[3,1] is 0, not 1.25"

// "FAIL_INCORRECT y[3,1] is 0, not 1.25; 12 of 51 wrong". The shape itself is not told.
std::string mismatch_text(const Mismatch& mismatch);

// The compiler's first error without the file's name: "line 3: expected ';' before '}' token".
std::string first_compiler_error(std::string_view diagnostics);

// Whether a stranger's word can be a reason: at most 32 letters in lower case, digits and underscores.
bool is_reason_code(const std::string& word);

// "Segmentation fault" of signal_11. A reason without words is its own.
std::string words_of(const std::string& reason);

// What to add to a fault in a call whose buffers lay apart. It is likely, and not known, that an access outside a
// buffer was the cause.
std::string gap_text(Placement placement);

// "45 % of the memory roof; sum 13.1 us 92 %, scale 1.1 us 8 %": how far the candidate still is from what the
// GPU can do, and which of its kernels, if there are several, takes how much; the longest three.
std::string profile_text(const Profile& profile);

// The message of a verdict: its kind, then the speedup and the profile where it passed, else `detail` or the
// reason in words. A PASS at several timed shapes has a line for each, "at m 64, n 256: speedup 1.80"; lines that do not
// fit are left out.
std::string verdict_message(const Verdict& verdict, std::string_view detail = "");

// Printable ASCII of at most `max_bytes`: other characters become '?', control characters a space, absolute
// paths "path", and the tokens of chat formats are parted by a space.
std::string scrub(std::string_view text, size_t max_bytes = kMaxMessageBytes);

}  // namespace temper::env
