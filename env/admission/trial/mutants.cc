#include "env/admission/trial/mutants.h"

#include <memory>

#include "env/admission/trial/input_mutants.h"
#include "env/admission/trial/memory_mutants.h"
#include "env/admission/trial/op_mutants.h"

namespace temper::env {
namespace {

using Outputs = std::vector<at::Tensor>;

// What the reference makes of other values of input `i`.
template <class Change>
auto with_input(const std::shared_ptr<Reference>& reference, size_t i, Change change) {
  return [reference, i, change](const MutantCall& call) {
    Outputs inputs = call.inputs;
    inputs[i] = change(inputs[i], call);
    return reference->wide(inputs, at::kFloat);
  };
}

template <class Change>
auto with_output(const std::shared_ptr<Reference>& reference, size_t i, Change change) {
  return [reference, i, change](const MutantCall& call) {
    Outputs outputs = reference->wide(call.inputs, at::kFloat);
    outputs[i] = change(outputs[i], call.shape, call.fill);
    return outputs;
  };
}

}  // namespace

const char* name_of(MutantKind kind) {
  return kind == MutantKind::kOperation ? "operations" : kind == MutantKind::kInput ? "inputs" : "memory";
}

std::vector<Mutant> mutants_of(const Task& task) {
  std::vector<Mutant> mutants;
  for (const OpMutant& op : op_mutants(task)) {
    const auto changed = std::make_shared<Reference>(task, op.edit);
    mutants.push_back({MutantKind::kOperation, op.name,
                       [changed](const MutantCall& call) { return changed->wide(call.inputs, at::kFloat); }});
  }
  const auto reference = std::make_shared<Reference>(task);
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    for (const InputMutant& input : input_mutants(task, i))
      mutants.push_back({MutantKind::kInput, input.name,
                         with_input(reference, i, [input](const at::Tensor& values, const MutantCall& call) {
                           return input.believed(values, call.shape, call.magnitude);
                         })});
    for (const NeighbourMutant& beside : neighbour_mutants(task, i))
      mutants.push_back({MutantKind::kMemory, beside.name,
                         with_input(reference, i, [beside](const at::Tensor& values, const MutantCall& call) {
                           return beside.mixed(values, call.shape, call.fill);
                         })});
  }
  for (size_t i = 0; i < task.outputs.size(); ++i)
    for (const MemoryMutant& output : output_mutants(task, i))
      mutants.push_back({MutantKind::kMemory, output.name, with_output(reference, i, output.spoiled)});
  return mutants;
}

}  // namespace temper::env
