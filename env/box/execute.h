#pragma once
// The last steps of a box's child before it becomes one of our programs.

#include <string>
#include <vector>

#include "base/machine/child_process.h"

namespace temper::env {

// `descriptors` become 3, 4, …; standard input and output (and, unless `keep_errors`, error output)
// /dev/null; all others are closed. Returns 127 if the program cannot be started.
int execute(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::vector<int>& descriptors, bool keep_errors);

// A trusted process that has a GPU, outside of namespaces: it needs the machine's devices. `descriptors` as
// above, `environment` on top of ours.
ChildProcess start_gpu_program(const std::vector<std::string>& argv,
                               const std::vector<std::string>& environment,
                               const std::vector<int>& descriptors);

// The environment of this process without the job's secret, which candidates must not see, and with `more` added.
std::vector<std::string> environment_with(const std::vector<std::string>& more);

}  // namespace temper::env
