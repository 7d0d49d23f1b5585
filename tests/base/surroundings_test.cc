#include "base/machine/surroundings.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <locale>

#include "base/error.h"
#include "base/process.h"

namespace temper {
namespace {

TEST(Process, BeginsWithDescriptorsAModeAndAPointWhateverSurroundsIt) {
  const std::string file = testing::TempDir() + "/begins_" + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    for (int standard = 0; standard < 3; ++standard) ::close(standard);
    ::umask(0777);
    begin_process();
    const Fd made(::open(file.c_str(), O_WRONLY | O_CREAT, 0644));
    struct stat found {};
    const bool right = made.get() > 2 && ::fstat(made.get(), &found) == 0 && (found.st_mode & 0777) == 0600 &&
                       ::write(1, "lost", 4) == 4 && std::locale() == std::locale::classic();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::unlink(file.c_str());
}

}  // namespace
}  // namespace temper
