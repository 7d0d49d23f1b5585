#include "rollout/prompt/prompt_fields.h"

#include <fmt/ranges.h>

#include <set>
#include <vector>

#include "base/error.h"
#include "env/languages/language.h"
#include "rollout/prompt/module_prompt.h"

namespace temper::rollout {

using env::ElementType;
using env::Task;
using env::TensorSpec;
using env::VerdictKind;

namespace {

constexpr const char* kFirst =
    R"(Write {language} code that computes the same as this PyTorch function and is faster than PyTorch:

```python
{problem}
```

Your code has to define this function:

```{fence}
{signature}
```

{rules}

Your code is compiled, compared with `reference` at sizes that you are not shown, and timed against PyTorch in eager mode. Every element of the outputs has to be right, also for unusual inputs. Among right answers the faster one is better.

End your answer with exactly one fenced code block that begins with ```{fence} and holds the whole source.)";

constexpr const char* kAsk =
    " Answer with the whole source again, in exactly one fenced code block that begins with ```{fence}.";
constexpr const char* kHeard = "{result} The judge says:\n\n{verdict}\n\n";

const char* type_word(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "float32";
    case ElementType::kI32:
      return "int32";
    case ElementType::kBF16:
      return "bfloat16";
    case ElementType::kF16:
      return "float16";
  }
  TEMPER_CHECK(false, "element type {}", int(type));
}

// "# idx: int32 [k], at least 0 and below n".
std::string tensor_line(const TensorSpec& tensor, const char* before) {
  std::string line = fmt::format("# {}{}: {} [{}]", before, tensor.name, type_word(tensor.type),
                                 fmt::join(tensor.shape, ", "));
  if (!tensor.index_bound.empty()) line += fmt::format(", at least 0 and below {}", tensor.index_bound);
  if (tensor.nonfinite) line += ", with elements that are NaN or infinite";
  if (tensor.plain) line += ", without unusual values";
  return line + "\n";
}

std::string without_line_ends(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// The function, below the types and shapes of its tensors. It is Python all of it.
std::string problem_of(const Task& task) {
  if (task.module) return without_line_ends(task.reference);
  std::string text;
  for (const TensorSpec& input : task.inputs) text += tensor_line(input, "");
  for (const TensorSpec& output : task.outputs) text += tensor_line(output, "returns ");
  return text + without_line_ends(task.reference);
}

std::string precision_of(const Task& task) {
  if (task.module) return precision_word(task.module->precision);
  std::set<std::string> types;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const TensorSpec& tensor : *tensors)
      if (env::is_float(tensor.type)) types.insert(type_word(tensor.type));
  return fmt::format("{}", fmt::join(types, ", "));
}

// A candidate that is timed at several shapes may choose between ways to compute by size.
std::string rules_of(const Task& task) {
  if (task.module) return module_rules(task);
  const std::string rules = env::find_language(task.language).calling;
  if (task.timed_count() == 1) return rules;
  std::vector<std::string> shapes;
  for (const env::Shape& shape : env::timed_shapes(task)) shapes.push_back(env::sizes_text(shape));
  return fmt::format("{} It is timed at these sizes, which count alike: {}.", rules, fmt::join(shapes, "; "));
}

}  // namespace

PromptFields task_fields(const Task& task, bool in_triton) {
  const env::Language& language = env::find_language(task.language);
  const std::string& title = (task.module ? (in_triton ? env::kTriton : env::kCuda) : language).title;
  return {{"problem", problem_of(task)},
          {"signature", task.signature()},
          {"entry_point", language.entry_point},
          {"language", title},
          {"fence", env::fence_word(language)},
          {"precision", precision_of(task)},
          {"rules", rules_of(task)},
          {"name", task.name}};
}

const PromptTemplate& first_sentences() {
  static const PromptTemplate text(TemplateKind::kFirst, kFirst, "first sentences");
  return text;
}

const PromptTemplate& later_sentences(bool pass) {
  static const PromptTemplate faster(TemplateKind::kLater,
                                     std::string(kHeard) + "Write a version that is faster." + kAsk,
                                     "later sentences"),
      right(TemplateKind::kLater, std::string(kHeard) + "Correct it, and keep it fast." + kAsk,
            "later sentences");
  return pass ? faster : right;
}

std::string result_sentence(const env::Verdict& verdict) {
  switch (verdict.kind) {
    case VerdictKind::kPass:
      return verdict.speedup >= 1
                 ? fmt::format("Your code is right and {:.2f} times as fast as PyTorch.", verdict.speedup)
                 : fmt::format("Your code is right, but it has only {:.2f} times the speed of PyTorch.",
                               verdict.speedup);
    case VerdictKind::kFailParse:
      return "Your answer has no code that could be judged.";
    case VerdictKind::kFailCompile:
      return "Your code does not compile.";
    case VerdictKind::kFailPlan:
      return "What your code launches could not be followed.";
    case VerdictKind::kFailRuntime:
      return "Your code failed while it ran.";
    case VerdictKind::kFailTimeout:
      return "Your code took too long.";
    case VerdictKind::kFailIncorrect:
    case VerdictKind::kFailNondet:
      return "Your code runs, but its outputs are wrong.";
    case VerdictKind::kRejectPolicy:
      return "Your code does something that is not allowed.";
    case VerdictKind::kHack:
      return "Your code only looks right or fast, and counts for nothing.";
    case VerdictKind::kSuspect:
      return "Your code is faster than is believable, and counts for nothing.";
    case VerdictKind::kInfra:
      return "Your code could not be judged, which is not its fault.";
  }
  TEMPER_CHECK(false, "verdict {}", int(verdict.kind));
}

}  // namespace temper::rollout
