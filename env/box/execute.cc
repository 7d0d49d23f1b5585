#include "env/box/execute.h"

#include <unistd.h>

#include <string_view>

namespace temper::env {
namespace {

constexpr double kContextEnds_s = 30;  // a killed process's, with all that it holds of a GPU

}  // namespace

int execute(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::vector<int>& descriptors, bool keep_errors) {
  become({.argv = argv,
          .environment = environment,
          .descriptors = descriptors,
          .input = kNullDevice,
          .output = kNullDevice,
          .errors = keep_errors ? STDERR_FILENO : kNullDevice});
  return 127;
}

ChildProcess start_gpu_program(const std::vector<std::string>& argv,
                               const std::vector<std::string>& environment,
                               const std::vector<int>& descriptors) {
  return ChildProcess::start({.argv = argv,
                              .environment = environment_with(environment),
                              .descriptors = descriptors,
                              .input = kNullDevice,
                              .output = kNullDevice,
                              .no_new_privileges = true,
                              .reap_s = kContextEnds_s});
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("TEMPER_SECRET")) result.emplace_back(*entry);
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

}  // namespace temper::env
