#include "base/machine/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/files.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

// Makes one and ends without a destructor.
fs::path left_by_a_killed_process(const std::string& name) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const ScratchFolder folder(name);
    (void)!::write(pipe[1], folder.path().c_str(), folder.path().string().size());
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  char path[256] = {};
  EXPECT_GT(::read(pipe[0], path, sizeof path - 1), 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  return path;
}

TEST(ScratchFolder, GoesWithItsOwner) {
  fs::path path;
  {
    const ScratchFolder folder("scratch-a");
    path = folder.path();
    write_file(path / "file", "text");
    EXPECT_EQ(fs::status(path).permissions(), fs::perms(0755));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, TheNextOneRemovesWhatAKilledProcessLeft) {
  const fs::path left = left_by_a_killed_process("scratch-b");
  ASSERT_TRUE(fs::exists(left));
  const ScratchFolder other_name("scratch-c");
  EXPECT_TRUE(fs::exists(left));
  const ScratchFolder folder("scratch-b");
  EXPECT_FALSE(fs::exists(left));
}

TEST(ScratchFolder, OneThatIsInUseStays) {
  const ScratchFolder first("scratch-d");
  const ScratchFolder second("scratch-d");
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(fs::exists(first.path()));
}

}  // namespace
}  // namespace temper
