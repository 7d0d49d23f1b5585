#pragma once
// What generation makes and learning reads, always by token id.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "env/verdict.h"
#include "policy/tokenizer.h"

namespace temper {

enum class Role : uint8_t {
  kPrompt,    // the task and the chat format's own tokens
  kPlan,      // the policy's reasoning: everything it wrote outside the code block
  kCode,      // the policy's code block, fences included
  kFeedback,  // the verdict as the next turn's prompt
};
const char* to_string(Role role);
inline bool is_response(Role role) { return role == Role::kPlan || role == Role::kCode; }

// One answer and its verdict. Response tokens are [begin, end) of the trajectory's row, the stop token
// included.
struct Turn {
  int32_t begin = 0, end = 0;
  bool stopped = false;  // ended with the stop token, not at a length limit
  Verdict verdict;
};

// All turns of one sample of one task, as one row of tokens.
struct Trajectory {
  std::string task;
  int64_t step = 0, sample = 0;
  std::vector<int32_t> ids;      // [T]
  std::vector<Role> roles;       // [T]
  std::vector<float> log_probs;  // [T], of the sampling pass; 0 outside responses
  std::vector<Turn> turns;       // [M]
};

// The N samples of one task.
struct Group {
  std::string task;
  std::vector<Trajectory> samples;
};

// What one step learns from.
struct Batch {
  int64_t step = 0;
  std::vector<Group> groups;
};

// The conversation as text: role headings, answers, verdicts with times.
std::string to_text(const Trajectory& trajectory, const Tokenizer& tokenizer);

}  // namespace temper
