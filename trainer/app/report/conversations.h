#pragma once
// What a run's policy wrote, as text: the best and the worst, what it learned and lost, and one answer to
// each task.

#include <string>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/app/report/run_record.h"

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

// The first trajectory of each task that has a judged answer, by the tasks' names; `count` at most.
std::vector<const Trajectory*> one_of_each_task(const std::vector<const Trajectory*>& trajectories,
                                                size_t count);

// A task whose share of right last answers changed. `before` and `after` are among its commonest outcomes
// there: a right answer where most were right, else a wrong one; of right ones the fastest.
struct TaskChange {
  double share_before = 0, share_after = 0;
  const Trajectory *before = nullptr, *after = nullptr;
};
struct TaskChanges {
  std::vector<TaskChange> improved, regressed;  // the largest change first, `count` of each at most
};
TaskChanges task_changes(const std::vector<const Trajectory*>& before,
                         const std::vector<const Trajectory*>& after, size_t count);

// Without the chat format's own tokens; what stands in front of a code block is plan, though a token of it
// reach into the block. A text longer than kPassageBytes is cut in its middle, and says so. What the feedback
// said is in the verdicts.
constexpr size_t kPassageBytes = 8000;
ReadableConversation readable(const Trajectory& trajectory, const Tokenizer& tokenizer);

// The trajectories a report shows: those of the last evaluation, else of the last step; the file's stem as
// `origin`. Nothing where there are none yet. `before`: those of the evaluation before the first step, where
// there is one after the last too. Errors: ConfigError of a line that is no trajectory.
struct RecordedTrajectories {
  std::string origin;
  std::vector<Trajectory> trajectories, before;
};
RecordedTrajectories last_trajectories(const RunRecord& run);

}  // namespace temper
