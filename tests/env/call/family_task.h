#pragma once
// A small task for tests of draws.

#include "env/task/task.h"

namespace temper::env {

inline const Shape kDrawShape{{"n", 40}, {"m", 64}};

inline Task family_task(const std::string& inputs, const std::string& outputs = "{y: [n, m]}") {
  return parse_tasks("{name: t, reference: x, inputs: " + inputs + ", outputs: " + outputs +
                         ", check: [{n: 5, m: 7}], timed: {n: 64, m: 96}}",
                     "t.yaml")[0];
}

}  // namespace temper::env
