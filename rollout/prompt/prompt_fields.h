#pragma once
// What a task's messages are made of, and Temper's own sentences around it.

#include <string>

#include "env/task/task.h"
#include "env/verdict/verdict.h"
#include "rollout/prompt/prompt_template.h"

namespace temper::rollout {

// The fields of system messages. `in_triton`: what a problem in PyTorch asks kernels in; other tasks have a language.
PromptFields task_fields(const env::Task& task, bool in_triton);

// The messages in whole sentences, for policies that were taught on texts: what is to be written, the definition, the
// declaration, what is measured, and that one fenced code block is wanted.
const PromptTemplate& first_sentences();  // of tasks that are no problems in PyTorch
// What came of an answer, the judge's words on it, and the wish for a better one or a corrected one. `pass`: it was right.
const PromptTemplate& later_sentences(bool pass);

// "Your code does not compile."
std::string result_sentence(const env::Verdict& verdict);

}  // namespace temper::rollout
