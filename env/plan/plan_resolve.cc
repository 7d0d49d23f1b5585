#include <algorithm>
#include <iterator>

#include "env/plan/plan.h"

namespace temper::env {
namespace {

const Alternative& taken(const Choice& choice, const Configurations& configurations) {
  const auto wanted = configurations.find(choice.slot);
  if (wanted == configurations.end()) return choice.alternatives.front();
  const auto found = std::ranges::find(choice.alternatives, wanted->second, &Alternative::configuration);
  return found == choice.alternatives.end() ? choice.alternatives.front() : *found;
}

// Visits a step with what is to be done with each number that names a kernel or a workspace.
template <class Kernel, class Workspace>
struct SeeUses {
  Kernel kernel;
  Workspace workspace;

  void operator()(KernelLaunch& launch) const {
    kernel(launch.kernel);
    for (Relocation& relocation : launch.relocations) pointer(relocation.pointer);
    for (TensorMap& map : launch.tensor_maps) pointer(map.pointer);
  }
  void operator()(Memset& set) const { pointer(set.to); }
  void operator()(Copy& copy) const {
    pointer(copy.to);
    pointer(copy.from);
  }
  void pointer(DevicePointer& one) const {
    if (one.space == Space::kWorkspace) workspace(one.index);
  }
};

template <class Kernel, class Workspace>
SeeUses(Kernel, Workspace) -> SeeUses<Kernel, Workspace>;

// Which of a list are in use, and their numbers when the others are gone. An index outside the list, which
// check_plan refuses, stays outside.
class Uses {
 public:
  explicit Uses(size_t count) : number_(count, kUnused) {}
  void note(uint32_t index) {
    if (index < number_.size()) number_[index] = 0;
  }
  uint32_t number(uint32_t index) const { return index < number_.size() ? number_[index] : index; }

  template <class List>
  void keep_used(List& list) {
    List kept;
    for (size_t i = 0; i < list.size(); ++i) {
      if (number_[i] == kUnused) continue;
      number_[i] = uint32_t(kept.size());
      kept.push_back(std::move(list[i]));
    }
    list = std::move(kept);
  }

 private:
  static constexpr uint32_t kUnused = ~0u;
  std::vector<uint32_t> number_;
};

void drop_unused(LaunchPlan& plan) {
  Uses kernels(plan.kernels.size()), workspaces(plan.workspaces.size());
  const SeeUses note{[&](uint32_t index) { kernels.note(index); },
                     [&](uint32_t index) { workspaces.note(index); }};
  for (Step& step : plan.steps) std::visit(note, step);
  kernels.keep_used(plan.kernels);
  workspaces.keep_used(plan.workspaces);
  const SeeUses renumber{[&](uint32_t& index) { index = kernels.number(index); },
                         [&](uint32_t& index) { index = workspaces.number(index); }};
  for (Step& step : plan.steps) std::visit(renumber, step);
}

}  // namespace

LaunchPlan resolve(const LaunchPlan& plan, const Configurations& configurations) {
  if (plan.choices.empty()) return plan;
  LaunchPlan chosen{.kernels = plan.kernels, .workspaces = plan.workspaces, .steps = {}};
  const auto add = [&chosen](const std::vector<Step>& steps) {
    std::ranges::copy(steps, std::back_inserter(chosen.steps));
  };
  size_t done = 0;
  for (const Choice& choice : plan.choices) {
    add({plan.steps.begin() + ptrdiff_t(done), plan.steps.begin() + ptrdiff_t(choice.at)});
    done = choice.at;
    add(taken(choice, configurations).steps);
  }
  add({plan.steps.begin() + ptrdiff_t(done), plan.steps.end()});
  drop_unused(chosen);
  return chosen;
}

}  // namespace temper::env
