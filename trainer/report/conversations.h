#pragma once
// The best and the worst of what a run's policy wrote, as text.

#include <string>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/report/run_record.h"

namespace temper {

// One role's stretch of an answer, and which role.
struct Passage {
  Role role;
  std::string text;
};

struct ConversationTurn {
  std::vector<Passage> answer;
  bool stopped = false;
  Verdict verdict;
};

struct ReadableConversation {
  std::string task;
  int64_t sample = 0;
  std::string prompt;
  std::vector<ConversationTurn> turns;
};

// Of each list `count` at most, each task once. Best: the fastest right last answers. Worst: hacks first,
// then one of each kind of failure in turn, then the slowest right ones; of a kind those that had been right
// before come first. Trajectories without a judged answer are in neither.
struct BestAndWorst {
  std::vector<const Trajectory*> best, worst;
};
BestAndWorst best_and_worst(const std::vector<const Trajectory*>& trajectories, size_t count);

// Without the chat format's own tokens; what stands in front of a code block is plan, though a token of it
// reach into the block. A text longer than kPassageBytes is cut in its middle, and says so. What the feedback
// said is in the verdicts.
constexpr size_t kPassageBytes = 8000;
ReadableConversation readable(const Trajectory& trajectory, const Tokenizer& tokenizer);

// The trajectories a report shows: those of the last evaluation, else of the last step; the file's stem as
// `origin`. Nothing where there are none yet. Errors: ConfigError of a line that is no trajectory.
struct RecordedTrajectories {
  std::string origin;
  std::vector<Trajectory> trajectories;
};
RecordedTrajectories last_trajectories(const RunRecord& run);

}  // namespace temper
