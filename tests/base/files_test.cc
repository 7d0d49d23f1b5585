#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "base/error.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

fs::path fresh_dir(const std::string& name) {
  const fs::path dir = fs::path(::testing::TempDir()) / name;
  fs::remove_all(dir);
  fs::create_directories(dir);
  return dir;
}

TEST(Files, WriteThenRead) {
  const fs::path path = fresh_dir("files_test") / "a";
  const std::string content("with\0nul\n", 9);
  write_file_atomic(path, content);
  EXPECT_EQ(read_file(path), content);
  write_file_atomic(path, "new");
  EXPECT_EQ(read_file(path), "new");
}

TEST(Files, MissingFileIsNamed) {
  try {
    read_file("/nowhere/at/all");
    FAIL();
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("/nowhere/at/all"));
  }
}

// A file size limit stands in for a full disk: the write fails half-way.
TEST(Files, FailedWriteKeepsTheOldFileAndLeavesNothingBeside) {
  const fs::path dir = fresh_dir("files_full");
  write_file_atomic(dir / "a", "old");
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file_atomic(dir / "a", std::string(5000, 'x')), WorldError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(dir / "a"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 1);
}

TEST(Files, Sha256KnownAnswer) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace temper
