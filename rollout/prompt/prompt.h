#pragma once
// The messages that a policy gets: the system's, the user's first one, which asks the task, and after each answer one
// that tells its verdict.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"
#include "rollout/prompt/prompt_template.h"

namespace temper::rollout {

struct PromptOptions {
  // plain: the task alone. The others are for problems in PyTorch, and ask other tasks as plain does.
  std::string rule = "plain";
  std::string kernels =
      "auto";  // what kernels are to be written in: cuda, triton; auto: `asked_in`, else triton for drkernel, else cuda
  std::string asked_in = "";  // no option: tasks.language, where that is one of the two
  // short: shapes, code, declaration, and later the verdict alone. sentences: whole English sentences around them. auto
  // must be decided (trainer/config/prompt_style.h), and is short until then.
  std::string style = "auto";
  // The user's own words: a text, and files. What is read of them is below.
  std::string system = "", system_file = "", first = "", later = "";
  PromptTemplate system_text = {}, first_text = {}, later_text = {};  // empty: none

  void visit(OptionVisitor& v);
  // Reads the texts that the options name, and may change the paths to where the files were found: first beside `run_file`
  // unless that is empty or `said` holds the option's name, then in the working directory. Adds what is wrong with them
  // to `problems`, by keys in the section `section`.
  void read_texts(const std::string& run_file, std::span<const std::string> said, const std::string& section,
                  Problems& problems);

  bool in_sentences() const { return style == "sentences"; }
  bool in_triton() const {
    if (kernels != "auto") return kernels == "triton";
    return asked_in.empty() ? rule == "drkernel" : asked_in == "triton";
  }
};

// The text of a user's own words, by option without its section: system, first, later.
struct OwnWords {
  std::string option, text;
  bool operator==(const OwnWords&) const = default;
};
std::vector<OwnWords> own_words(const PromptOptions& options);  // those that there are

// The system message, where the user gave one.
std::optional<std::string> system_prompt(const PromptOptions& options, const env::Task& task);

// The user's first message.
std::string task_prompt(const PromptOptions& options, const env::Task& task);

// How the task begins rows after the first (ContextOptions::rule); the same text where nothing is left out of it.
std::string later_task_prompt(const PromptOptions& options, const env::Task& task);

// The messages that tell one task's verdicts.
class VerdictPrompt {
 public:
  VerdictPrompt(const PromptOptions& options, const env::Task& task);
  // `history`: the verdicts of the answers up to this one, which is its last. The judge's words take at most
  // `max_bytes`, as feedback_text() has it.
  std::string text(std::span<const env::Verdict* const> history, size_t max_bytes = 0) const;

 private:
  struct Words;
  std::shared_ptr<const Words> words_;  // null: the judge's words alone
};

// The form of an answer, with an empty code block.
std::string example_answer(const env::Task& task);

// The judge's words: the verdict's details, cut in the middle to max_bytes, where it has some and max_bytes is more than
// a message may take; else its message.
std::string feedback_text(const env::Verdict& verdict, size_t max_bytes = 0);

}  // namespace temper::rollout
