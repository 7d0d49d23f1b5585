#include "rollout/prompt/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/input/printable.h"
#include "env/verdict/details.h"
#include "env/verdict/message.h"
#include "rollout/prompt/module_prompt.h"
#include "rollout/prompt/prompt_fields.h"

namespace temper::rollout {

using env::Task;
using env::Verdict;

namespace {

namespace fs = std::filesystem;

// A path in a run file is looked for beside that file, too.
std::string found_path(const std::string& path, const std::string& run_file) {
  if (run_file.empty() || fs::path(path).is_absolute()) return path;
  const fs::path beside = fs::path(run_file).parent_path() / path;
  std::error_code error;
  return fs::exists(beside, error) ? beside.string() : path;
}

// Without the user's own words.
std::string plain_question(const PromptOptions& options, const Task& task, bool later) {
  if (task.module && (options.rule != "plain" || options.in_sentences()))
    return module_prompt({options.rule == "plain" ? "zero_shot" : options.rule, options.in_triton()}, task,
                         later);
  return options.in_sentences() ? first_sentences().fill(task_fields(task, options.in_triton()))
                                : task.prompt();
}

std::string question(const PromptOptions& options, const Task& task, bool later) {
  const std::string plain = plain_question(options, task, later);
  if (options.first_text.empty()) return plain;
  PromptFields fields = task_fields(task, options.in_triton());
  fields["question"] = plain;
  return options.first_text.fill(fields);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string history_lines(std::span<const Verdict* const> history) {
  std::string lines;
  for (size_t i = 0; i < history.size(); ++i)
    lines +=
        fmt::format("{}answer {}: {}", i == 0 ? "" : "\n", i + 1, first_line(feedback_text(*history[i])));
  return lines;
}

}  // namespace

void PromptOptions::visit(OptionVisitor& v) {
  v.option(
      "rule", rule,
      {.help =
           "how problems in PyTorch are asked. plain: the source and what to define, in style sentences as "
           "zero_shot; zero_shot, one_shot: as KernelBench does; drkernel: for kernels that take over the "
           "time, "
           "in several turns; kevin: in several turns, with the example in the first row alone",
       .choices = {"plain", "zero_shot", "one_shot", "drkernel", "kevin"}});
  v.option("kernels", kernels,
           {.help = "what these rules ask kernels to be written in; auto is tasks.language where that is "
                    "cuda or triton, else "
                    "triton for drkernel and cuda for the others",
            .choices = {"auto", "cuda", "triton"}});
  v.option("style", style,
           {.help = "how much is said around tasks and verdicts. short: shapes, code and declaration alone; "
                    "sentences: what to do, in whole English sentences; auto: short for new policies and "
                    "models whose tokenizer Temper trained, sentences for other models",
            .choices = {"auto", "short", "sentences"}});
  v.option("system", system,
           {.help = "system message, a text that may have fields in braces; if empty, none",
            .text = TextKind::kName,
            .may_change = true});
  v.option("system_file", system_file,
           {.help = "file with the system message, instead of system",
            .text = TextKind::kPath,
            .may_change = true});
  v.option(
      "first", first,
      {.help = "file with the user's first message, with fields such as {problem}; if empty, Temper's own "
               "words",
       .text = TextKind::kPath,
       .may_change = true});
  v.option(
      "later", later,
      {.help = "file with the user's message after each answer, with fields such as {verdict}; if empty, "
               "Temper's own words",
       .text = TextKind::kPath,
       .may_change = true});
}

void PromptOptions::read_texts(const std::string& run_file, std::span<const std::string> said,
                               const std::string& section, Problems& problems) {
  const auto take = [&](const char* option, TemplateKind kind, std::string& path, PromptTemplate& into) {
    if (path.empty()) return;
    const bool on_command_line = std::ranges::count(said, option) > 0;
    path = found_path(path, on_command_line ? "" : run_file);
    std::error_code error;
    if (!on_command_line && !run_file.empty() && !fs::exists(path, error))
      return problems.add(
          fmt::format("{}.{}", section, option),
          fmt::format("{}: no such file here, nor beside {}", printable(path), printable(run_file)));
    try {
      into = PromptTemplate::read(kind, path);
    } catch (const ConfigError& e) {
      problems.add(fmt::format("{}.{}", section, option), e.what());
    }
  };
  if (!system.empty() && !system_file.empty())
    return problems.add(section + ".system",
                        fmt::format("{}.system_file is given too; only one can be", section));
  if (!system.empty()) try {
      system_text = PromptTemplate(TemplateKind::kSystem, system, "text");
    } catch (const ConfigError& e) {
      problems.add(section + ".system", e.what());
    }
  take("system_file", TemplateKind::kSystem, system_file, system_text);
  take("first", TemplateKind::kFirst, first, first_text);
  take("later", TemplateKind::kLater, later, later_text);
}

std::vector<OwnWords> own_words(const PromptOptions& options) {
  std::vector<OwnWords> all = {{"system", options.system_text.text()},
                               {"first", options.first_text.text()},
                               {"later", options.later_text.text()}};
  std::erase_if(all, [](const OwnWords& words) { return words.text.empty(); });
  return all;
}

std::optional<std::string> system_prompt(const PromptOptions& options, const Task& task) {
  if (options.system_text.empty()) return std::nullopt;
  return options.system_text.fill(task_fields(task, options.in_triton()));
}

std::string task_prompt(const PromptOptions& options, const Task& task) {
  return question(options, task, false);
}

std::string later_task_prompt(const PromptOptions& options, const Task& task) {
  return question(options, task, true);
}

struct VerdictPrompt::Words {
  PromptFields fields;
  bool in_sentences = false;
  PromptTemplate own;
};

VerdictPrompt::VerdictPrompt(const PromptOptions& options, const Task& task) {
  if (!options.in_sentences() && options.later_text.empty()) return;
  words_ = std::make_shared<const Words>(
      Words{task_fields(task, options.in_triton()), options.in_sentences(), options.later_text});
}

std::string VerdictPrompt::text(std::span<const Verdict* const> history, size_t max_bytes) const {
  TEMPER_CHECK(!history.empty());
  const std::string said = feedback_text(*history.back(), max_bytes);
  if (!words_) return said;
  const Verdict heard = env::told(*history.back());
  PromptFields fields = words_->fields;
  fields["verdict"] = said;
  fields["result"] = result_sentence(heard);
  fields["history"] = history_lines(history);
  fields["turn"] = fmt::format("{}", history.size() + 1);
  const std::string plain = words_->in_sentences ? later_sentences(heard.pass()).fill(fields) : said;
  if (words_->own.empty()) return plain;
  fields["question"] = plain;
  return words_->own.fill(fields);
}

std::string example_answer(const env::Task& task) {
  return fmt::format("(an example of an answer)\n```{}\n```\n",
                     env::fence_word(env::find_language(task.language)));
}

std::string feedback_text(const Verdict& verdict, size_t max_bytes) {
  const Verdict heard = env::told(verdict);
  if (max_bytes > env::kMaxMessageBytes && !heard.details.empty())
    return env::cut_in_the_middle(heard.details, max_bytes);
  return heard.message.empty() ? env::verdict_message(heard) : heard.message;
}

}  // namespace temper::rollout
