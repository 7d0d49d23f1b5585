#include "env/judge/judge.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "env/gpu/standalone.h"
#include "env/languages/language.h"
#include "env/verdict/answer.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/admit.h"
#include "trainer/app/commands/again.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/commands/plan.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {

using env::Task;

namespace {

// A task's name among tasks.path, or a file that holds one task.
Task task_of_word(const RunConfig& config, const std::string& name) {
  if (!std::filesystem::is_regular_file(name)) return env::find_task(load_all_tasks(config), name);
  std::vector<Task> tasks = env::load_tasks(std::filesystem::path(name), config.tasks.problems);
  if (tasks.size() != 1)
    throw ConfigError("{}: holds {} tasks; pass tasks.path={} and a name", name, tasks.size(), name);
  return tasks.front();
}

// The task in the language that tasks.language says, or that the candidate's file is of. Python may be either of two; then the
// task says which.
Task named_task(const RunConfig& config, const std::string& name, const std::string& candidate) {
  const Task task = task_of_word(config, name);
  const env::Language* language =
      env::language_of_extension(std::filesystem::path(candidate).extension().string());
  if (config.tasks.language != "auto" || task.module || language == nullptr ||
      language->also_tasks_of.empty())
    return in_language_of(config, task);
  return env::asked_in(*language, task);
}

bool is_answer(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".md" || extension == ".txt";
}

env::Verdict judge_answer(const RunConfig& config, const Task& task, const env::Answer& answer) {
  if (!answer.ok) return env::verdict_of(env::VerdictKind::kFailParse, answer.reason);
  env::JudgeOptions options = config.env;
  options.lanes = 1;
  options.compare_refused = true;
  options.compared = 1;
  env::Judge judge(options, {task});
  for (const std::string& note : judge.notes()) fmt::print(stderr, "{}\n", note);
  return env::about_block(judge.judge(task.name, answer.code), env::block_words(answer));
}

void print_profile(const env::Profile& profile) {
  fmt::print("{:.0f} % of the {} roof: {:.0f} GB/s, {:.0f} GFLOP/s; {:.1f} µs on the GPU\n",
             100 * profile.roof_share, profile.roof, profile.bytes_per_s * 1e-9, profile.flops_per_s * 1e-9,
             profile.device_us);
  for (const env::KernelTime& kernel : profile.kernels)
    fmt::print("  {:<40} {:>8.1f} µs {:>5.1f} %  {}×\n", kernel.name, kernel.us, 100 * kernel.share,
               kernel.launches);
}

// "as KernelBench counts: correct, trials 5 of 5, 0.51 ms, the reference 1.2 ms".
void print_comparable(const env::ComparableResult& result) {
  fmt::print("as KernelBench counts: {}", result.timed_out     ? "timed out"
                                          : !result.compiled   ? "not compiled"
                                          : result.correctness ? "correct"
                                                               : "not correct");
  if (result.trials > 0) fmt::print(", trials {} of {}", result.trials_right, result.trials);
  if (result.runtime.timed()) fmt::print(", {} ms", result.runtime.mean);
  if (result.ref_runtime.timed()) fmt::print(", the reference {} ms", result.ref_runtime.mean);
  fmt::print("{}\n", result.excessive_speedup ? ", excessive speedup" : "");
}

// "the problem: weak strictly: none, as KernelBench counts: zeros, stale; each draw: input 0 is symmetric".
void print_problem(const env::ProblemNotes& notes) {
  if (!notes.unusable.empty()) return;  // the message is the same
  fmt::print("the problem: answers without work that pass: strictly {}, as KernelBench counts {}\n",
             env::weak_text(notes.weak), env::weak_text(notes.weak_comparable));
  if (!notes.promises.empty()) fmt::print("each draw of its inputs: {}\n", fmt::join(notes.promises, "; "));
}

void print_verdict(const env::Verdict& v) {
  fmt::print("{}{}\n", env::to_string(v.kind), v.reason.empty() ? "" : " (" + v.reason + ")");
  if (v.candidate_us > 0)
    fmt::print(
        "{:.2f}× [{:.2f}, {:.2f}]  candidate {:.1f} µs, baseline {:.1f} µs ± {:.1f} %, {} pairs, floor "
        "{:.1f} µs, roof {:.1f} µs{}\n",
        v.speedup, v.speedup_low, v.speedup_high, v.candidate_us, v.baseline_us, 100 * v.noise, v.pairs,
        v.floor_us, v.roof_us, v.audited ? ", audited" : "");
  for (const env::ShapeTime& at : v.shapes)
    fmt::print("  {}: {:.2f}× [{:.2f}, {:.2f}]  candidate {:.1f} µs, baseline {:.1f} µs, roof {:.1f} µs\n",
               env::sizes_text(at.sizes), at.speedup, at.speedup_low, at.speedup_high, at.candidate_us,
               at.baseline_us, at.roof_us);
  if (v.speedup_compiled) fmt::print("{:.2f}× against torch.compile\n", *v.speedup_compiled);
  if (!v.configuration.empty()) fmt::print("{}\n", v.configuration);
  if (v.profile) print_profile(*v.profile);
  if (v.comparable) print_comparable(*v.comparable);
  if (v.problem) print_problem(*v.problem);
  if (!v.message.empty()) fmt::print("{}\n", v.message);
  if (!v.details.empty()) fmt::print("\n{}\n\n", v.details);
  fmt::print("compile {:.0f} ms, run {:.0f} ms, in all {:.0f} ms\n", v.compile_ms, v.run_ms, v.total_ms);
}

int print_standalone(const Task& task, const std::string& source) {
  if (env::find_language(task.language).form != env::Form::kCudaUnit)
    throw ConfigError("judge --standalone: task {} is {}; such a program is made of cuda candidates",
                      task.name, task.language);
  fmt::print("{}", env::standalone_program(task, source));
  return kExitOk;
}

// What a verdict is about, so that a file of many can be read alone.
nlohmann::json whole(const env::Verdict& verdict, const Task& task, const std::string& path) {
  const nlohmann::json facts = start_facts(1);
  nlohmann::json json = verdict;
  json["task"] = task.name;
  json["candidate"] = path;
  json["program"] = {{"version", facts.at("version")}, {"commit", facts.at("commit")}};
  json["machine"] = {{"host", facts.at("host")}, {"cores", facts.at("cores")}, {"gpus", facts.at("gpus")}};
  return json;
}

int run_judge(const ConfigWords& words, const std::string& task_name, const std::string& path, bool json,
              bool plan, bool standalone) {
  const RunConfig config = words.read();
  const Task task = named_task(config, task_name, path);
  const std::string text = read_input(path);
  const env::Answer answer = is_answer(path) ? env::extract_code(text, task.language)
                                             : env::Answer{.ok = true, .reason = "", .code = text};
  if (standalone && answer.ok) return print_standalone(task, answer.code);
  if (plan && answer.ok) return run_plan(config, task, answer.code, json);
  const env::Verdict verdict = judge_answer(config, task, answer);
  if (json)
    fmt::print("{}\n", whole(verdict, task, path).dump(2));
  else
    print_verdict(verdict);
  if (verdict.infra()) return kExitWorld;
  return verdict.pass() ? kExitOk : kExitCandidateFailed;
}

}  // namespace

void add_judge(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "judge", "judge one candidate: exit 0 if it passes, 1 if not; or find out which tasks are fair");
  const auto words = std::make_shared<ConfigWords>();
  const auto task = std::make_shared<std::string>(), candidate = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false), admit = std::make_shared<bool>(false),
             plan = std::make_shared<bool>(false), standalone = std::make_shared<bool>(false),
             markdown = std::make_shared<bool>(false), tasks = std::make_shared<bool>(false),
             mutants = std::make_shared<bool>(false), again = std::make_shared<bool>(false);
  const auto rounds = std::make_shared<int64_t>(3), limit = std::make_shared<int64_t>(0);
  command->add_option("task", *task, "a task's name, or a file with one task")->transform(path_word());
  command->add_option("candidate", *candidate, "source file, whole answer (.md, .txt), or -")
      ->transform(path_word());
  declare_overrides(*command, *words);
  command->add_flag("--json", *json, "the whole verdict as JSON");
  command->add_flag(
      "--admit", *admit,
      "instead of a candidate, judge the tasks themselves, those named or all of tasks.path: exit 0 "
      "if each may be asked, 1 if not");
  command->add_flag(
      "--mutants", *mutants,
      "with --admit: known short-cuts, such as a softmax without its maximum, must fail each task");
  command->add_flag("--markdown", *markdown, "with --admit: print the results as tables in Markdown");
  command->add_flag("--tasks", *tasks,
                    "instead of a candidate, print those tasks as JSON, with each size as a number: what "
                    "tools/compiled_baselines reads");
  command->add_flag(
      "--again", *again,
      "instead of a task and a candidate, a run's directory, and a step or evaluation as `temper "
      "show` takes it: judge its answers that passed again, with other keys, and print which no longer pass");
  command->add_option("--rounds", *rounds, "with --again: how often each answer is judged")
      ->check(at_least(1));
  command->add_option("--limit", *limit, "with --again: only this many of the fastest answers")
      ->check(at_least(1));
  command->add_flag("--plan", *plan,
                    "for a candidate in CUDA or Triton, print what it launches at each shape; needs no GPU");
  command->add_flag(
      "--standalone", *standalone,
      "for a cuda candidate, print an ordinary CUDA program that times it, to check a verdict's time");
  command->callback([=, &exit_code] {
    if (*tasks)
      exit_code = print_tasks({*task, *candidate}, *words);
    else if (*admit)
      exit_code = run_admit({*task, *candidate}, *words,
                            *json       ? AdmitFormat::kJson
                            : *markdown ? AdmitFormat::kMarkdown
                                        : AdmitFormat::kText,
                            *mutants);
    else if (*again)
      exit_code = run_again(*task, *candidate, *words, *rounds, *limit);
    else if (candidate->empty())
      throw ConfigError("judge: give a task and a candidate, or --admit, --tasks or --again");
    else
      exit_code = run_judge(*words, *task, *candidate, *json, *plan, *standalone);
  });
}

}  // namespace temper::trainer
