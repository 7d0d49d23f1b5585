#include "trainer/app/commands/again.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "env/judge/judge.h"
#include "env/verdict/answer.h"
#include "policy/chat/chat_format.h"
#include "rollout/trajectory_file.h"
#include "trainer/app/report/run_record.h"
#include "trainer/evaluate/again.h"
#include "trainer/evaluate/score.h"
#include "trainer/run/console.h"
#include "trainer/run/model.h"

namespace temper::trainer {

using env::Verdict;

namespace fs = std::filesystem;
namespace {

// The best turn of each trajectory, where it passed, the fastest first.
std::vector<PassedAnswer> passed_answers(const fs::path& file, const policy::Tokenizer& tokenizer,
                                         const RunConfig& config, const std::vector<env::Task>& tasks) {
  const policy::ChatFormat format(tokenizer);
  std::vector<PassedAnswer> answers;
  for (const rollout::Trajectory& t : rollout::read_trajectories(file)) {
    if (t.turns.empty()) continue;
    const rollout::Turn& best = best_turn(config.reward, t);
    if (!best.verdict.pass()) continue;
    rollout::check_ids(t, tokenizer.vocab_size());
    const env::Answer answer =
        env::extract_code(tokenizer.decode(t.answer_ids(best)), env::find_task(tasks, t.task).language,
                          format.opens_reasoning());
    if (answer.ok) answers.push_back({t.task, answer.code, t.step, t.sample, best.verdict, {}});
  }
  std::ranges::stable_sort(answers, std::greater(), [](const PassedAnswer& a) { return a.before.speedup; });
  return answers;
}

void judge_again(const RunConfig& config, std::vector<env::Task> tasks, std::vector<PassedAnswer>& answers,
                 int64_t rounds) {
  std::erase_if(tasks, [&](const env::Task& task) {
    return std::ranges::find(answers, task.name, &PassedAnswer::task) == answers.end();
  });
  env::Judge judge(config.env, tasks);
  judge_again(judge, answers, rounds, progress_bar("verdicts", false));
}

void print_answer(const PassedAnswer& answer) {
  std::string now = "INFRA";
  if (!answer.after.empty()) {
    const Verdict verdict = answer.verdict();
    const std::string why = verdict.reason.empty() ? "" : " (" + verdict.reason + ")";
    now = verdict.pass() ? fmt::format("PASS {:.2f}×", verdict.speedup)
                         : fmt::format("{}{}, {} of {}", env::to_string(verdict.kind), why, answer.falls(),
                                       answer.after.size());
  }
  fmt::print("{:<32} step {} sample {}: PASS {:.2f}× → {}\n", answer.task, answer.step, answer.sample,
             answer.before.speedup, now);
}

void print_summary(const RewardOptions& options, const std::vector<PassedAnswer>& answers) {
  std::vector<Verdict> now;
  std::vector<const Verdict*> before, after;
  for (const PassedAnswer& answer : answers)
    if (!answer.after.empty()) {
      now.push_back(answer.verdict());
      before.push_back(&answer.before);
    }
  for (const Verdict& verdict : now) after.push_back(&verdict);
  const auto fell = std::ranges::count_if(now, [](const Verdict& verdict) { return !verdict.pass(); });
  const Score old_score = score(options, before), new_score = score(options, after);
  fmt::print(
      "\n{} answers had passed; judged again {} fell, {} could not be judged\n"
      "mean score {:.3f} → {:.3f}; speedup {:.2f}× → {:.2f}×; fast_1 {:.1f} → {:.1f} %\n",
      answers.size(), fell, answers.size() - now.size(), old_score.reward, new_score.reward,
      old_score.speedup, new_score.speedup, 100 * old_score.fast[1], 100 * new_score.fast[1]);
}

}  // namespace

int run_again(const std::string& run, const std::string& which, const ConfigWords& words, int64_t rounds,
              int64_t limit) {
  const fs::path file = trajectories_file(run, which, "judge --again");
  RunConfig config = read_config((fs::path(run) / "config.yaml").string(), words.overrides);
  config.env.cache.clear();
  config.env.again = 0;
  policy::Tokenizer tokenizer = tokenizer_of_run(run);
  decide_chat(tokenizer, config.model.chat());
  std::vector<env::Task> tasks = load_all_tasks(config);
  std::vector<PassedAnswer> answers = passed_answers(file, tokenizer, config, tasks);
  if (answers.empty()) throw ConfigError("judge --again: no answer of {} passed", file.string());
  if (limit > 0 && limit < std::ssize(answers)) answers.resize(size_t(limit));
  judge_again(config, std::move(tasks), answers, rounds);
  for (const PassedAnswer& answer : answers) print_answer(answer);
  print_summary(config.reward, answers);
  return kExitOk;
}

}  // namespace temper::trainer
