#include "rollout/prompt/prompt_template.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"

namespace temper::rollout {
namespace {

constexpr size_t kMostProblems = 10;  // of one text

std::vector<std::string> names_of(TemplateKind kind) {
  std::vector<std::string> names;
  for (const PromptField& field : fields_of(kind)) names.push_back(field.name);
  return names;
}

std::string in_braces(const std::vector<std::string>& names) {
  return fmt::format("{{{}}}", fmt::join(names, "}, {"));
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

std::string unknown_field(TemplateKind kind, const std::string& name) {
  const std::vector<std::string> known = names_of(kind);
  if (kind != TemplateKind::kLater && has(names_of(TemplateKind::kLater), name))
    return fmt::format("{{{}}} is known in rollout.prompt.later alone; here there are {}", name,
                       in_braces(known));
  return fmt::format("{{{}}} is no field{}; there are {}; {{{{ and }}}} write braces", printable(name),
                     did_you_mean(name, known), in_braces(known));
}

// What the text itself must have. Empty: all of it.
std::string missing_field(TemplateKind kind, const std::vector<std::string>& found) {
  if (kind == TemplateKind::kSystem || has(found, "question")) return "";
  if (kind == TemplateKind::kFirst)
    return has(found, "problem")
               ? ""
               : "has no {problem}, so that a policy could not know what to compute; write it, "
                 "or {question}, the whole message that would be asked without this text";
  return has(found, "verdict")
             ? ""
             : "has no {verdict}, so that a policy could not know what came of its answer; write "
               "it, or {question}, the whole message that would be told without this text";
}

size_t line_of(std::string_view text, size_t at) {
  return 1 + size_t(std::ranges::count(text.substr(0, at), '\n'));
}

// What no text may hold, whatever its fields.
std::string unreadable(const std::string& text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.size() > kMaxTemplateBytes)
    return fmt::format("{} bytes, at most {} are read", text.size(), kMaxTemplateBytes);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return "is empty";
  if (text.starts_with(kMark)) return "begins with a byte order mark; save it without one";
  if (const size_t at = text.find('\0'); at != std::string::npos)
    return fmt::format("holds a NUL in line {}", line_of(text, at));
  if (const size_t valid = valid_utf8_prefix(text); valid < text.size())
    return fmt::format("is no UTF-8 in line {}, at byte {}", line_of(text, valid), valid + 1);
  return "";
}

std::string without_last_line_end(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

// Cuts a text at its fields.
class TemplateReader {
 public:
  TemplateReader(TemplateKind kind, PromptTemplate& into)
      : kind_(kind), known_(names_of(kind)), into_(into) {}

  // What is wrong, each with its line: "3: …".
  std::vector<std::string> read() {
    const std::string& text = into_.text_;
    while (at_ < text.size() && problems_.size() < kMostProblems) {
      const char c = text[at_];
      if (c != '{' && c != '}')
        add(c, 1);
      else if (at_ + 1 < text.size() && text[at_ + 1] == c)
        add(c, 2);
      else if (c == '{')
        field();
      else
        stray('}', "closes");
    }
    return std::move(problems_);
  }

  const std::vector<std::string>& found() const { return found_; }

 private:
  void add(char c, size_t taken) {
    auto& parts = into_.parts_;
    if (parts.empty() || parts.back().field) parts.push_back({});
    parts.back().text += c;
    at_ += taken;
  }

  void problem(const std::string& text) {
    problems_.push_back(fmt::format("{}: {}", line_of(into_.text_, at_), text));
  }

  void stray(char brace, const char* does) {
    problem(fmt::format("a brace {} no field; write {}{} for one brace", does, brace, brace));
    ++at_;
  }

  void field() {
    const size_t end = into_.text_.find_first_of("{}\n", at_ + 1);
    if (end == std::string::npos || into_.text_[end] != '}') return stray('{', "opens");
    const std::string name = into_.text_.substr(at_ + 1, end - at_ - 1);
    if (has(known_, name))
      found_.push_back(name);
    else
      problem(unknown_field(kind_, name));
    into_.parts_.push_back({name, true});
    at_ = end + 1;
  }

  const TemplateKind kind_;
  const std::vector<std::string> known_;
  PromptTemplate& into_;
  std::vector<std::string> problems_, found_;
  size_t at_ = 0;
};

const std::vector<PromptField>& fields_of(TemplateKind kind) {
  static const std::vector<PromptField> task = {
      {"problem",
       "what is to be computed: the PyTorch function with the types and shapes of its tensors, or the "
       "module"},
      {"signature", "the declaration that an answer has to define"},
      {"entry_point", "the name in it: kernel, launch or ModelNew"},
      {"language", "what an answer is written in: C++, CUDA C++ or Triton"},
      {"fence", "what the fence of an answer's code block says: cpp, cuda, triton or python"},
      {"precision", "the types of the floating-point tensors: float32"},
      {"rules", "how an answer gets its tensors and what it may do, in sentences"},
      {"name", "the task's name"}};
  static const std::vector<PromptField> first = [] {
    std::vector<PromptField> all = task;
    all.push_back({"question", "the whole message that would be sent without the template"});
    return all;
  }();
  static const std::vector<PromptField> later = [] {
    std::vector<PromptField> all = first;
    all.push_back(
        {"verdict", "the judge's words on the last answer, as long as rollout.feedback_bytes allows"});
    all.push_back({"result", "what came of the last answer, in a sentence"});
    all.push_back({"history", "a line for each answer so far, with the judge's first words on it"});
    all.push_back({"turn", "the number of the answer that is asked for: 2 after the first one"});
    return all;
  }();
  return kind == TemplateKind::kSystem ? task : kind == TemplateKind::kFirst ? first : later;
}

PromptTemplate::PromptTemplate(TemplateKind kind, std::string text, const std::string& where) {
  if (const std::string why = unreadable(text); !why.empty()) throw ConfigError("{}: {}", where, why);
  text_ = without_last_line_end(std::move(text));
  TemplateReader reader(kind, *this);
  std::vector<std::string> problems = reader.read();
  for (std::string& problem : problems) problem = fmt::format("{}:{}", where, problem);
  if (problems.empty())
    if (const std::string missing = missing_field(kind, reader.found()); !missing.empty())
      problems.push_back(fmt::format("{}: {}", where, missing));
  if (!problems.empty()) throw ConfigError("{}", fmt::join(problems, "\n"));
}

PromptTemplate PromptTemplate::read(TemplateKind kind, const std::string& path) {
  return {kind, read_input_file(path, kMaxTemplateBytes), path};
}

std::string PromptTemplate::fill(const PromptFields& fields) const {
  std::string text;
  for (const Part& part : parts_) {
    if (!part.field) {
      text += part.text;
      continue;
    }
    const auto found = fields.find(part.text);
    TEMPER_CHECK(found != fields.end(), "field {}", part.text);
    text += found->second;
  }
  return text;
}

}  // namespace temper::rollout
