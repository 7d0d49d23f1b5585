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

TEST(Files, AnAppendedRecordIsWholeOrNotThere) {
  const fs::path path = fresh_dir("files_append") / "a";
  AppendFile file(path);
  file.append("one\n");
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(file.append(std::string(5000, 'x')), WorldError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path), "one\n");
  file.append("two\n");
  EXPECT_EQ(read_file(path), "one\ntwo\n");
}

TEST(Files, ExchangeLeavesBothAtEveryMoment) {
  const fs::path dir = fresh_dir("files_exchange");
  for (const char* name : {"a", "b"}) {
    fs::create_directory(dir / name);
    write_file(dir / name / "x", name);
  }
  ASSERT_TRUE(exchange_paths(dir / "a", dir / "b"));
  EXPECT_EQ(read_file(dir / "a/x"), "b");
  EXPECT_EQ(read_file(dir / "b/x"), "a");
  EXPECT_THROW(exchange_paths(dir / "a", dir / "c"), WorldError);
}

TEST(Files, AGuardKeepsAFolderAsItIs) {
  const fs::path dir = fresh_dir("files_guard");
  write_file(dir / "old", "old");
  fs::create_directory(dir / "folder");
  AppendFile growing(dir / "growing");
  int asked = 0;
  guard_writes(dir, [&asked]() -> std::shared_ptr<void> {
    ++asked;
    throw WorldError("it is another's");
  });
  EXPECT_THROW(write_file(dir / "new", "x"), WorldError);
  EXPECT_THROW(write_file_atomic(dir / "sub/../old", "x"), WorldError);
  EXPECT_THROW(growing.append("x"), WorldError);
  EXPECT_THROW(make_folder(dir / "made"), WorldError);
  EXPECT_THROW(rename_path(dir / "old", dir / "renamed"), WorldError);
  EXPECT_THROW(exchange_paths(dir / "old", dir / "growing"), WorldError);
  EXPECT_THROW(remove_folder(dir / "folder"), WorldError);
  EXPECT_THROW(cut_file(dir / "old", 1), WorldError);
  EXPECT_EQ(asked, 8);
  const fs::path beside = fresh_dir("files_guard_not");  // whose name begins alike
  write_file(beside / "a", "x");
  guard_writes("", nullptr);
  EXPECT_EQ(read_file(dir / "old"), "old");
  EXPECT_EQ(read_file(dir / "growing"), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), fs::directory_iterator()), 3);
  write_file(dir / "old", "x");
}

}  // namespace
}  // namespace temper
