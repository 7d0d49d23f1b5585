#pragma once
// More tasks to practise on: variations of the train tasks (variation.h).

#include <cstdint>
#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::traces {

// Equal for tasks that differ only in spelling or in what their inputs are called. Empty where the grammar
// cannot read the reference.
std::string canonical_task(const env::Task& task);

// Up to `count` tasks named gen_NUMBER, of split "traces", all different from each other and from every given
// task, held-out ones included, also when their inputs are called otherwise. Deterministic in the seed.
std::vector<env::Task> generate_tasks(const std::vector<env::Task>& tasks, int64_t count, uint64_t seed);

}  // namespace temper::traces
