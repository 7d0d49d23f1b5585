#include "env/box/execute.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

namespace temper {
namespace {

constexpr int kFirst = 3;

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const auto& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

int execute(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::vector<int>& descriptors, bool keep_errors) {
  const int null = ::open("/dev/null", O_RDWR);
  for (int standard = STDIN_FILENO; standard <= (keep_errors ? STDOUT_FILENO : STDERR_FILENO); ++standard)
    ::dup2(null, standard);
  const int end = kFirst + int(descriptors.size());
  std::vector<int> high;  // out of the way of the numbers they are to get
  for (int fd : descriptors) high.push_back(::fcntl(fd, F_DUPFD, end));
  for (int i = 0; i < int(high.size()); ++i) ::dup2(high[i], kFirst + i);
  ::syscall(SYS_close_range, end, ~0u, 0);
  ::execve(argv[0].c_str(), pointers(argv).data(), pointers(environment).data());
  return 127;
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("TEMPER_SECRET")) result.emplace_back(*entry);
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

}  // namespace temper
