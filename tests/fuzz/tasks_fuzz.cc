#include "env/task/task.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(tasks) {
  fuzz::taken([&] {
    for (const Task& task : parse_tasks(std::string(bytes), "tasks.yaml")) {
      TEMPER_CHECK(!task.prompt().empty() && !task.digest().empty());
      for (const TensorSpec& input : task.inputs) {
        for (size_t i = 0; i < task.timed_count(); ++i) {
          const Shape shape = task.timed(i).sizes;
          tensor_bytes(input, shape);
          if (input.distribution == Distribution::kNormal) normal_scale(input, shape, 1);
        }
      }
    }
  });
}

}  // namespace temper::env
