#pragma once
// The last steps of a child before it becomes one of our programs.

#include <string>
#include <vector>

namespace temper {

// `descriptors` become 3, 4, …; standard input and output (and, unless `keep_errors`, error output)
// /dev/null; all others are closed. Returns 127 if the program cannot be started.
int execute(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::vector<int>& descriptors, bool keep_errors);

// The environment of this process, but for the job's secret, which is no candidate's business, and `more` on top.
std::vector<std::string> environment_with(const std::vector<std::string>& more);

}  // namespace temper
