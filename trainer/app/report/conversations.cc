#include "trainer/app/report/conversations.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "rollout/trajectory_file.h"

namespace temper::trainer {

using rollout::Trajectory;

namespace fs = std::filesystem;
namespace {

const env::Verdict& last_verdict(const Trajectory& t) { return t.turns.back().verdict; }

bool was_right(const Trajectory& t) {
  return std::ranges::any_of(t.turns, [](const rollout::Turn& turn) { return turn.verdict.pass(); });
}

// The first `count`, no task twice.
std::vector<const Trajectory*> of_different_tasks(const std::vector<const Trajectory*>& ranked,
                                                  size_t count) {
  std::vector<const Trajectory*> chosen;
  std::set<std::string> tasks;
  for (const Trajectory* t : ranked)
    if (chosen.size() < count && tasks.insert(t->task).second) chosen.push_back(t);
  return chosen;
}

// Hacks, other failures, right answers.
int badness(const env::Verdict& verdict) { return verdict.hack() ? 0 : verdict.pass() ? 2 : 1; }

// How many of its kind come before each, so that kinds take turns.
std::vector<const Trajectory*> worst_first(std::vector<const Trajectory*> all) {
  std::ranges::stable_sort(all, {}, [](const Trajectory* t) {
    return std::tuple(badness(last_verdict(*t)), !was_right(*t), last_verdict(*t).speedup);
  });
  std::map<env::VerdictKind, int64_t> seen;
  std::map<const Trajectory*, int64_t> before;
  for (const Trajectory* t : all) before[t] = seen[last_verdict(*t).kind]++;
  std::ranges::stable_sort(
      all, {}, [&](const Trajectory* t) { return std::pair(badness(last_verdict(*t)), before[t]); });
  return all;
}

// What became of a task's samples.
struct Outcomes {
  int64_t right = 0, judged = 0;
  const Trajectory *fastest = nullptr, *wrong = nullptr;

  double share() const { return double(right) / double(judged); }
  const Trajectory* example() const { return fastest && (!wrong || 2 * right >= judged) ? fastest : wrong; }
};

std::map<std::string, Outcomes> outcomes_of(const std::vector<const Trajectory*>& trajectories) {
  std::map<std::string, Outcomes> tasks;
  for (const Trajectory* t : trajectories) {
    if (t->turns.empty() || last_verdict(*t).infra()) continue;
    Outcomes& task = tasks[t->task];
    ++task.judged;
    if (!last_verdict(*t).pass()) {
      if (!task.wrong) task.wrong = t;
      continue;
    }
    ++task.right;
    if (!task.fastest || last_verdict(*t).speedup > last_verdict(*task.fastest).speedup) task.fastest = t;
  }
  return tasks;
}

// Cuts the text without splitting a UTF-8 character. Bytes that are not UTF-8 are handled when the text is written.
std::string bounded(std::string text) {
  if (text.size() <= kPassageBytes) return text;
  const auto is_inside = [&](size_t at) { return (text[at] & 0xC0) == 0x80; };
  size_t head = kPassageBytes * 3 / 4, tail = text.size() - kPassageBytes / 4;
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return fmt::format("{}\n… {} bytes left out …\n{}", text.substr(0, head), tail - head, text.substr(tail));
}

// What lies between the first opening and the first closing of a message, without the line that names its
// role.
std::string message_text(const std::vector<int32_t>& ids, const policy::Tokenizer& tokenizer) {
  const auto opening = tokenizer.find_special("<|im_start|>"), closing = tokenizer.find_special("<|im_end|>");
  std::vector<int32_t> inside;
  bool open = !opening;  // other chats are shown whole
  for (const int32_t id : ids) {
    if (id == closing && open) break;
    if (open) inside.push_back(id);
    open = open || id == opening;
  }
  const std::string text = tokenizer.decode(inside);
  return opening ? text.substr(text.find('\n') + 1) : text;
}

// A token may lie on both sides of the fence; its text is not to.
void add_passage(rollout::Role role, std::string text, std::vector<Passage>& answer) {
  const size_t fence = std::min(text.find("```"), text.find("~~~"));
  if (role == rollout::Role::kCode && fence != std::string::npos && fence > 0) {
    if (answer.empty()) answer.push_back({rollout::Role::kPlan, ""});
    answer.back().text += text.substr(0, fence);
    text.erase(0, fence);
  }
  if (!text.empty()) answer.push_back({role, std::move(text)});
}

ConversationTurn readable_turn(const Trajectory& t, const rollout::Turn& turn,
                               const policy::Tokenizer& tokenizer) {
  ConversationTurn result{{}, turn.stopped, turn.verdict};
  const rollout::Segment& row = t.row_of(turn);
  for (const rollout::Span span : turn.spans())
    for (auto begin = size_t(span.begin), end = begin; begin < size_t(span.end); begin = end) {
      std::vector<int32_t> ids;
      for (; end < size_t(span.end) && row.roles[end] == row.roles[begin]; ++end) ids.push_back(row.ids[end]);
      add_passage(row.roles[begin], bounded(tokenizer.decode(ids)), result.answer);
    }
  return result;
}

}  // namespace

BestAndWorst best_and_worst(const std::vector<const Trajectory*>& trajectories, size_t count) {
  std::vector<const Trajectory*> all = trajectories;
  std::erase_if(all, [](const Trajectory* t) { return t->turns.empty() || last_verdict(*t).infra(); });
  std::vector<const Trajectory*> right;
  std::ranges::copy_if(all, std::back_inserter(right),
                       [](const Trajectory* t) { return last_verdict(*t).pass(); });
  std::ranges::stable_sort(right, std::greater(),
                           [](const Trajectory* t) { return last_verdict(*t).speedup; });
  BestAndWorst chosen{of_different_tasks(right, count), of_different_tasks(worst_first(all), count)};
  std::erase_if(chosen.worst, [&](const Trajectory* t) { return std::ranges::count(chosen.best, t) > 0; });
  return chosen;
}

std::vector<const Trajectory*> one_of_each_task(const std::vector<const Trajectory*>& trajectories,
                                                size_t count) {
  std::map<std::string, const Trajectory*> first;
  for (const Trajectory* t : trajectories)
    if (!t->turns.empty() && !last_verdict(*t).infra()) first.emplace(t->task, t);
  std::vector<const Trajectory*> chosen;
  for (const auto& [task, t] : first)
    if (chosen.size() < count) chosen.push_back(t);
  return chosen;
}

TaskChanges task_changes(const std::vector<const Trajectory*>& before,
                         const std::vector<const Trajectory*>& after, size_t count) {
  const std::map<std::string, Outcomes> then = outcomes_of(before), now = outcomes_of(after);
  std::vector<TaskChange> all;
  for (const auto& [task, outcomes] : now)
    if (const auto found = then.find(task); found != then.end())
      all.push_back({found->second.share(), outcomes.share(), found->second.example(), outcomes.example()});
  const auto change = [](const TaskChange& c) { return c.share_after - c.share_before; };
  TaskChanges changes;
  std::ranges::stable_sort(all, std::greater(), change);
  for (const TaskChange& c : all)
    if (change(c) > 0 && changes.improved.size() < count) changes.improved.push_back(c);
  std::ranges::stable_sort(all, {}, change);
  for (const TaskChange& c : all)
    if (change(c) < 0 && changes.regressed.size() < count) changes.regressed.push_back(c);
  return changes;
}

ReadableConversation readable(const Trajectory& trajectory, const policy::Tokenizer& tokenizer) {
  rollout::check_ids(trajectory, tokenizer.vocab_size());
  ReadableConversation conversation{trajectory.task, trajectory.sample, "", {}};
  const std::vector<int32_t>& ids = trajectory.segments.at(0).ids;
  const size_t first = trajectory.turns.empty() ? ids.size() : size_t(trajectory.turns[0].begin);
  conversation.prompt = bounded(message_text({ids.begin(), ids.begin() + ptrdiff_t(first)}, tokenizer));
  for (const rollout::Turn& turn : trajectory.turns)
    conversation.turns.push_back(readable_turn(trajectory, turn, tokenizer));
  return conversation;
}

RecordedTrajectories last_trajectories(const RunRecord& run) {
  const fs::path folder = run.dir / "trajectories";
  const auto names =
      fs::is_directory(folder) ? rollout::recorded_trajectories(folder) : std::vector<std::string>();
  if (names.empty()) return {};
  // step_… is above eval_before, which is all there is before the first step.
  std::string name = names.back();
  const auto has = [&](const char* file) { return std::ranges::count(names, file) > 0; };
  if (has("eval_after")) name = "eval_after";
  RecordedTrajectories recorded{
      name, rollout::read_trajectories(folder / (name + rollout::kTrajectoryFile)), {}};
  if (name == "eval_after" && has("eval_before"))
    recorded.before =
        rollout::read_trajectories(folder / (std::string("eval_before") + rollout::kTrajectoryFile));
  return recorded;
}

}  // namespace temper::trainer
