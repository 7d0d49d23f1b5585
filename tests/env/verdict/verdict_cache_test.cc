#include "env/verdict/verdict_cache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Cache : public testing::Test {
 protected:
  Cache() { fs::create_directories(root_); }
  ~Cache() override { fs::remove_all(root_); }

  static Verdict faster(double speedup) {
    Verdict verdict;
    verdict.kind = VerdictKind::kPass;
    verdict.speedup = speedup;
    return verdict;
  }

  // Why it is not opened.
  template <class Error>
  std::string refusal() {
    try {
      VerdictCache cache(path_.string());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_cache_{}", ::getpid());
  const fs::path path_ = root_ / "verdicts.db";
};

// No file may grow further: what a full disk does to a write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  void (*handler_)(int);
};

TEST_F(Cache, OutlivesTheRun) {
  {
    VerdictCache cache(path_.string());
    cache.add("a", faster(1));
    cache.add("a", faster(1.5));
    cache.add("b", faster(2));
  }
  VerdictCache cache(path_.string());
  EXPECT_EQ(cache.size(), 2u);
  ASSERT_TRUE(cache.find("a"));
  EXPECT_EQ(cache.find("a")->speedup, 1.5);
  EXPECT_TRUE(cache.find("a")->cached);
  EXPECT_FALSE(cache.find("c"));
}

TEST_F(Cache, IsSharedWhileItIsOpen) {
  VerdictCache one(path_.string()), other(path_.string());
  one.add("a", faster(3));
  ASSERT_TRUE(other.find("a"));
  EXPECT_EQ(other.find("a")->speedup, 3);
}

TEST_F(Cache, ProcessesWriteAtOnceAndLoseNothing) {
  constexpr int kProcesses = 4, kEach = 200;
  // Whoever throws here ends, instead of running the other tests as a second process of them.
  const auto write = [this](int process) noexcept {
    VerdictCache cache(path_.string());
    for (int i = 0; i < kEach; ++i)
      cache.add(fmt::format("{} {} {}", process, i, std::string(9000, 'x')), faster(i));
    if (process == 0) ::raise(SIGKILL);  // what it added is there all the same
    ::_exit(0);
  };
  for (int process = 0; process < kProcesses; ++process)
    if (::fork() == 0) write(process);
  for (int process = 0; process < kProcesses; ++process) ::wait(nullptr);
  EXPECT_EQ(VerdictCache(path_.string()).size(), size_t(kProcesses * kEach));
}

TEST_F(Cache, LinesOfAnOlderProgramAreRefusedAndKept) {
  const std::string lines = "{\"digest\":\"a\",\"verdict\":{}}\n";
  write_file(path_, lines);
  EXPECT_THAT(refusal<ConfigError>(), testing::AllOf(HasSubstr(path_.string()), HasSubstr("lines of JSON")));
  EXPECT_EQ(read_file(path_), lines);
}

TEST_F(Cache, AnythingElseIsRefusedAndKept) {
  const std::string text(5000, 'x');
  write_file(path_, text);
  EXPECT_THAT(refusal<ConfigError>(),
              testing::AllOf(HasSubstr(path_.string()), HasSubstr("not a cache of verdicts")));
  EXPECT_EQ(read_file(path_), text);
  fs::remove(path_);

  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE pictures (name TEXT)", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const std::string before = read_file(path_);
  EXPECT_THAT(refusal<ConfigError>(),
              testing::AllOf(HasSubstr(path_.string()), HasSubstr("a database of application 0")));
  EXPECT_EQ(read_file(path_), before);
}

TEST_F(Cache, AVerdictThatCannotBeReadIsNoneUntilThereIsAnother) {
  VerdictCache cache(path_.string());
  cache.add("a", faster(1));
  cache.add("b", faster(2));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "UPDATE verdicts SET verdict = '{\"kind\": \"PASS\"}' WHERE digest = 'a'",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(cache.find("a"));
  EXPECT_FALSE(cache.find("a"));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr(path_.string() + ": the verdict of a cannot be read: "));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
  EXPECT_EQ(cache.unreadable(), 2);
  EXPECT_TRUE(cache.find("b"));
  cache.add("a", faster(3));
  ASSERT_TRUE(cache.find("a"));
  EXPECT_EQ(cache.find("a")->speedup, 3);
}

TEST_F(Cache, AFolderThatIsNotThereIsNamed) {
  try {
    VerdictCache cache((root_ / "nowhere/verdicts.db").string());
    FAIL();
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), HasSubstr("nowhere/verdicts.db"));
  }
}

// /dev/full's like for a database: the pages it may have are used up.
TEST_F(Cache, AFullDiskIsSaid) {
  VerdictCache cache(path_.string());
  const FileSizeLimit small(40'000);
  const auto fill = [&] {
    for (int i = 0; i < 1000; ++i) cache.add(fmt::format("{} {}", i, std::string(1000, 'x')), faster(1));
  };
  try {
    fill();
    FAIL() << cache.size();
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), HasSubstr(path_.string()));
  }
}

}  // namespace
}  // namespace temper::env
