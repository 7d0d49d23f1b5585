#include "trainer/app/report/conversation_data.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "env/task/task.h"
#include "trainer/app/report/charts.h"
#include "trainer/app/report/conversations.h"

namespace temper::trainer {

using rollout::Trajectory;

namespace {

using Json = nlohmann::json;

constexpr size_t kEachTask = 100;  // tasks at most, over all groups, that one answer each is shown of

Json verdict_data(const env::Verdict& v) {
  Json data{{"kind", env::to_string(v.kind)},
            {"reason", v.reason},
            {"message", v.message},
            {"candidate_us", shortened(v.candidate_us)},
            {"baseline_us", shortened(v.baseline_us)},
            {"speedup", shortened(v.speedup)},
            {"low", shortened(v.speedup_low)},
            {"high", shortened(v.speedup_high)}};
  for (const env::ShapeTime& at : v.shapes)
    data["shapes"].push_back({{"sizes", env::sizes_text(at.sizes)},
                              {"candidate_us", shortened(at.candidate_us)},
                              {"baseline_us", shortened(at.baseline_us)}});
  return data;
}

Json readable_data(const ReadableConversation& conversation) {
  Json turns = Json::array();
  for (const ConversationTurn& turn : conversation.turns) {
    Json answer = Json::array();
    for (const Passage& passage : turn.answer)
      answer.push_back(
          {{"role", passage.role == rollout::Role::kCode ? "code" : "plan"}, {"text", passage.text}});
    turns.push_back({{"answer", answer}, {"stopped", turn.stopped}, {"verdict", verdict_data(turn.verdict)}});
  }
  return {{"task", conversation.task},
          {"sample", conversation.sample},
          {"prompt", conversation.prompt},
          {"turns", turns}};
}

// The conversations of all runs of a group, each decoded by its run's tokenizer.
class GroupConversations {
 public:
  explicit GroupConversations(const RunGroup& group) {
    for (const RunRecord* run : group.runs) recorded_.push_back(last_trajectories(*run));
    for (size_t i = 0; i < recorded_.size(); ++i) {
      add(recorded_[i].trajectories, group.runs[i], after_);
      add(recorded_[i].before, group.runs[i], before_);
    }
  }

  bool empty() const { return after_.empty(); }

  Json data(size_t group, size_t count, size_t each) {
    const BestAndWorst chosen = best_and_worst(after_, count);
    const TaskChanges changes = task_changes(before_, after_, count);
    return {{"group", group},
            {"origin", recorded_[0].origin},
            {"best", list(chosen.best)},
            {"worst", list(chosen.worst)},
            {"each", list(one_of_each_task(after_, each))},
            {"improved", pairs(changes.improved)},
            {"regressed", pairs(changes.regressed)}};
  }

 private:
  void add(const std::vector<Trajectory>& trajectories, const RunRecord* run,
           std::vector<const Trajectory*>& to) {
    for (const Trajectory& t : trajectories) {
      run_of_[&t] = run;
      to.push_back(&t);
    }
  }

  const policy::Tokenizer& tokenizer_of(const RunRecord* run) {
    const auto found = tokenizers_.find(run);
    return found != tokenizers_.end() ? found->second
                                      : tokenizers_.emplace(run, tokenizer_of_run(run->dir)).first->second;
  }

  Json conversation(const Trajectory& t) {
    const RunRecord* run = run_of_.at(&t);
    Json data = readable_data(readable(t, tokenizer_of(run)));
    data["run"] = run->name;
    return data;
  }

  Json list(const std::vector<const Trajectory*>& chosen) {
    Json all = Json::array();
    for (const Trajectory* t : chosen) all.push_back(conversation(*t));
    return all;
  }

  Json pairs(const std::vector<TaskChange>& changes) {
    Json all = Json::array();
    for (const TaskChange& change : changes)
      all.push_back({{"task", change.after->task},
                     {"share_before", shortened(change.share_before)},
                     {"share_after", shortened(change.share_after)},
                     {"before", conversation(*change.before)},
                     {"after", conversation(*change.after)}});
    return all;
  }

  std::vector<RecordedTrajectories> recorded_;
  std::map<const Trajectory*, const RunRecord*> run_of_;
  std::vector<const Trajectory*> before_, after_;
  std::map<const RunRecord*, policy::Tokenizer> tokenizers_;
};

}  // namespace

Json conversations_data(const std::vector<RunGroup>& groups, int64_t count,
                        std::vector<std::string>& problems) {
  Json all = Json::array();
  if (count == 0) return all;
  const size_t share = std::max<size_t>(1, size_t(count) / groups.size());
  for (size_t g = 0; g < groups.size(); ++g) try {
      GroupConversations conversations(groups[g]);
      if (!conversations.empty())
        all.push_back(conversations.data(g, share, std::max<size_t>(1, kEachTask / groups.size())));
    } catch (const ConfigError& e) {
      problems.push_back(e.what());
    }
  return all;
}

}  // namespace temper::trainer
