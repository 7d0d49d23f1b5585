#pragma once
// Conversations of a run's policy as text: the best and the worst, those of tasks on which it improved or became
// worse, and one answer to each task.

#include <string>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/app/report/run_record.h"

namespace temper::trainer {

// One role's stretch of an answer, and which role.
struct Passage {
  rollout::Role role;
  std::string text;
};

struct ConversationTurn {
  std::vector<Passage> answer;
  bool stopped = false;
  env::Verdict verdict;
};

struct ReadableConversation {
  std::string task;
  int64_t sample = 0;
  std::string prompt;
  std::vector<ConversationTurn> turns;
};

// Each list has at most `count` trajectories and each task once. Best: the fastest right last answers. Worst: hacks
// first, then one of each kind of failure in turn, then the slowest right ones; within a kind, tasks that had been
// solved before come first. Trajectories without a judged answer are in neither.
struct BestAndWorst {
  std::vector<const rollout::Trajectory*> best, worst;
};
BestAndWorst best_and_worst(const std::vector<const rollout::Trajectory*>& trajectories, size_t count);

// The first trajectory of each task that has a judged answer, by the tasks' names; `count` at most.
std::vector<const rollout::Trajectory*> one_of_each_task(
    const std::vector<const rollout::Trajectory*>& trajectories, size_t count);

// A task whose share of right last answers changed. `before` and `after` are typical trajectories of the two
// evaluations: a right one, the fastest, if most were right, and otherwise a wrong one.
struct TaskChange {
  double share_before = 0, share_after = 0;
  const rollout::Trajectory *before = nullptr, *after = nullptr;
};
struct TaskChanges {
  std::vector<TaskChange> improved, regressed;  // the largest change first, `count` of each at most
};
TaskChanges task_changes(const std::vector<const rollout::Trajectory*>& before,
                         const std::vector<const rollout::Trajectory*>& after, size_t count);

// A trajectory as text, without the chat format's own tokens. Text before a code block is plan, even if its last
// token reaches into the block. A text longer than kPassageBytes is cut in the middle, with a note. The feedback is
// contained in the verdicts.
constexpr size_t kPassageBytes = 8000;
ReadableConversation readable(const rollout::Trajectory& trajectory, const policy::Tokenizer& tokenizer);

// The trajectories that a report shows: those of the last evaluation, or else of the last step. `origin` is the stem of
// their file's name; all is empty if there are none yet. `before` has those of the evaluation before the first step, if
// there is also one after the last. Errors: ConfigError if the file has something that is not a trajectory.
struct RecordedTrajectories {
  std::string origin;
  std::vector<rollout::Trajectory> trajectories, before;
};
RecordedTrajectories last_trajectories(const RunRecord& run);

}  // namespace temper::trainer
