#include "trainer/cold_start/data_fields.h"

namespace temper::trainer {

void DataFields::visit(OptionVisitor& v) {
  v.option("messages", messages,
           {.help = "field with a row's list of messages, as a dotted path such as extra_info.messages; "
                    "if empty, messages, conversations or conversation",
            .text = TextKind::kName});
  v.option(
      "prompt", prompt,
      {.help = "field with what is asked: a text, or messages; if empty, prompt, question, query or input",
       .text = TextKind::kName});
  v.option(
      "completion", completion,
      {.help = "field with the answer: a text, or messages; if empty, completion, response, answer or output",
       .text = TextKind::kName});
  v.option("weight", weight,
           {.help = "field with the weight of a row's answers in the loss; if empty, weight, or 1 without it",
            .text = TextKind::kName});
}

}  // namespace temper::trainer
