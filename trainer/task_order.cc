#include "trainer/task_order.h"

#include "base/error.h"
#include "base/rng.h"

namespace temper {

std::vector<const Task*> tasks_of_step(std::vector<const Task*> tasks, uint64_t seed, int64_t step,
                                       int64_t count) {
  TEMPER_CHECK(count <= int64_t(tasks.size()), "{} of {} tasks", count, tasks.size());
  Rng rng{seed, 0x7A5C};
  for (size_t i = tasks.size(); i > 1; --i) std::swap(tasks[i - 1], tasks[rng.below(i)]);
  std::vector<const Task*> chosen;
  for (int64_t i = 0; i < count; ++i) chosen.push_back(tasks[size_t((step - 1) * count + i) % tasks.size()]);
  return chosen;
}

}  // namespace temper
