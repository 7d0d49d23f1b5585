#pragma once
// A task that is there for its reference, at small sizes.

#include <string>

#include "env/task/task.h"

namespace temper::env {

inline Task oracle_task(const std::string& fields) {
  const bool sized = fields.find("timed:") != std::string::npos;
  const std::string sizes = sized ? "" : "check: [{n: 5, m: 7}], timed: {n: 64, m: 96}, ";
  return parse_tasks("{name: t, dims: [n, m], " + sizes + fields + "}", "t.yaml")[0];
}

}  // namespace temper::env
