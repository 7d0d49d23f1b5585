#include "env/admission/trial/mutants.h"

#include <memory>

#include "env/admission/trial/input_mutants.h"
#include "env/admission/trial/op_mutants.h"

namespace temper {

std::vector<Mutant> mutants_of(const Task& task) {
  std::vector<Mutant> mutants;
  for (const OpMutant& op : op_mutants(task)) {
    const auto changed = std::make_shared<Reference>(task, op.edit);
    mutants.push_back({op.name, [changed](const std::vector<at::Tensor>& inputs, const Shape&, double) {
                         return changed->wide(inputs, at::kFloat);
                       }});
  }
  const auto reference = std::make_shared<Reference>(task);
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    for (const InputMutant& input : input_mutants(task.inputs[i])) {
      mutants.push_back(
          {input.name, [reference, i, believed = input.believed](std::vector<at::Tensor> inputs,
                                                                 const Shape& shape, double magnitude) {
             inputs[i] = believed(inputs[i], shape, magnitude);
             return reference->wide(inputs, at::kFloat);
           }});
    }
  }
  return mutants;
}

}  // namespace temper
