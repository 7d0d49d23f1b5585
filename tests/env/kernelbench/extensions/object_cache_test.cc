#include "env/kernelbench/extensions/object_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "base/files.h"
#include "base/machine/scratch_folder.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

constexpr int64_t kBytes = 1 << 20;

std::string digest(int number) { return sha256(std::to_string(number)); }

void age(const fs::path& file, int how_many) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - hours(how_many));
}

int64_t bytes_in(const fs::path& folder) {
  int64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder)) bytes += int64_t(file.file_size());
  return bytes;
}

TEST(ObjectCache, GivesWhatWasKeptToAllWhoShareTheFolder) {
  const ScratchFolder scratch("objects");
  const ObjectCache cache(scratch.path() / "a", kBytes), other(scratch.path() / "a", kBytes);
  EXPECT_FALSE(cache.find(digest(1)));
  const std::string content("x\0\n\xff", 4);
  cache.keep(digest(1), content);
  EXPECT_EQ(other.find(digest(1)), content);
  EXPECT_FALSE(other.find(digest(2)));
  cache.keep(digest(2), "");
  EXPECT_EQ(other.find(digest(2)), "");
  struct stat info {};
  ASSERT_EQ(::stat((scratch.path() / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST(ObjectCache, WithoutAFolderKeepsNothing) {
  const ObjectCache cache("", kBytes);
  cache.keep(digest(1), "x");
  EXPECT_FALSE(cache.find(digest(1)));
}

TEST(ObjectCache, DoesNotBelieveAFileThatIsNotWhatWasKept) {
  const ScratchFolder scratch("objects");
  const ObjectCache cache(scratch.path(), kBytes);
  cache.keep(digest(1), "what was kept");
  cache.keep(digest(2), "what another was");
  const std::string good = read_file(scratch.path() / digest(1)),
                    other = read_file(scratch.path() / digest(2));
  std::string changed = good;
  changed.back() ^= 1;
  for (const std::string& text :
       {changed, good.substr(0, good.size() - 1), good + "x", std::string(), std::string("x"), other}) {
    write_file(scratch.path() / digest(1), text);
    EXPECT_FALSE(cache.find(digest(1))) << text;
    EXPECT_FALSE(fs::exists(scratch.path() / digest(1)));
  }
  write_file(scratch.path() / digest(1), good);
  EXPECT_TRUE(cache.find(digest(1)));
}

TEST(ObjectCache, WhatWasUsedLongestAgoMakesRoom) {
  const ScratchFolder scratch("objects");
  const ObjectCache cache(scratch.path(), kBytes);
  const std::string content(kBytes / 16, 'x');
  for (int i = 0; i < 15; ++i) {
    cache.keep(digest(i), content);
    age(scratch.path() / digest(i), 100 - i);
  }
  EXPECT_TRUE(cache.find(digest(0)));  // used now
  for (int i = 15; i < 20; ++i) cache.keep(digest(i), content);
  EXPECT_LE(bytes_in(scratch.path()), kBytes);
  EXPECT_TRUE(cache.find(digest(0)));
  EXPECT_TRUE(cache.find(digest(19)));
  EXPECT_FALSE(cache.find(digest(1)));
  cache.keep(digest(30), content + "x");  // would displace too many others
  EXPECT_FALSE(cache.find(digest(30)));
}

}  // namespace
}  // namespace temper::env
