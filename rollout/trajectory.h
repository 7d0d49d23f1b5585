#pragma once
// Trajectories: what generation produces and learning reads, always as token ids.

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "env/verdict/verdict.h"
#include "policy/text/tokenizer.h"

namespace temper::rollout {

enum class Role : uint8_t {
  kPrompt,    // the task and the chat format's own tokens
  kPlan,      // the policy's reasoning: everything it wrote outside the code block
  kCode,      // the policy's code block, fences included
  kFeedback,  // the verdict as the next turn's prompt
  kHistory,   // what the policy wrote in another row, shown again
  kRequest,   // the request for a summary
  kSummary,   // the policy's summary of its answer
};
inline constexpr int kRoles = 7;
const char* to_string(Role role);
inline bool is_response(Role role) {
  return role == Role::kPlan || role == Role::kCode || role == Role::kSummary;
}

// A row of tokens that the policy saw and continued. Its first `prefix` tokens are those of an earlier row of the same
// trajectory, so that they need to be computed and stored only once; they are learned in that earlier row.
struct Segment {
  int32_t parent = -1, prefix = 0;  // the earlier row; −1 and 0 if there is none
  std::vector<int32_t> ids;         // [T], the prefix included
  std::vector<Role> roles;          // [T]
  std::vector<float> log_probs;     // [T], from sampling; 0 outside responses and in the prefix

  void append(const std::vector<int32_t>& more, Role role);
};

// A row that begins with the first `prefix` tokens of another, number `parent` of its trajectory.
Segment begin_segment(int32_t parent, const Segment& from, size_t prefix);

struct Span {
  int32_t begin = 0, end = 0;
};

// One answer and its verdict. Positions are in the row of `segment`, after its prefix.
struct Turn {
  int32_t segment = 0;
  int32_t begin = 0, end = 0;  // the answer, the stop token included
  Span summary = {};           // the policy's summary of it, stop token included; empty if there is none
  bool stopped = false;        // ended with the stop token, not at a length limit
  env::Verdict verdict = {};

  // The policy's own tokens of the turn.
  std::array<Span, 2> spans() const { return {Span{begin, end}, summary}; }
};

// All turns of one sample of one task. If context is only appended, they are in one row.
struct Trajectory {
  std::string task;
  int64_t step = 0, sample = 0;
  std::vector<Segment> segments;
  std::vector<Turn> turns;  // [M]

  const Segment& row_of(const Turn& turn) const { return segments[size_t(turn.segment)]; }
  // The ids of the answer alone.
  std::vector<int32_t> answer_ids(const Turn& turn) const;
};

// The N samples of one task.
struct Group {
  std::string task;
  std::vector<Trajectory> samples;
};

// The trajectories that one step learns from.
struct Batch {
  int64_t step = 0;
  std::vector<Group> groups;
};

// A segment of a batch, and whose it is.
struct BatchRow {
  const Trajectory* trajectory;
  int32_t segment;

  const Segment& row() const { return trajectory->segments[size_t(segment)]; }
  const std::vector<int32_t>& ids() const { return row().ids; }
  std::vector<const Turn*> turns() const;  // whose answers stand in the row
};
// Group by group, sample by sample, segment by segment.
std::vector<BatchRow> rows_of(const Batch& batch);

// The conversation as text: role headings, answers, verdicts with times.
std::string to_text(const Trajectory& trajectory, const policy::Tokenizer& tokenizer);

}  // namespace temper::rollout
