#include "base/machine/cgroups.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/machine/scratch_folder.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

// Trees as Linux shows them, in a folder.
class Cgroups : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const fs::path path = root() / name;
    fs::create_directories(path.parent_path());
    write_file_atomic(path, text + "\n");
  }
  fs::path root() const { return folder_.path(); }
  // A line of mountinfo.
  std::string mounted(const std::string& group, const std::string& at, const std::string& kind,
                      const std::string& options) const {
    return fmt::format("35 31 0:32 {} {} rw,relatime shared:9 - {} cgroup rw,{}\n", group,
                       (root() / at).string(), kind, options);
  }

 private:
  ScratchFolder folder_{"cgroups"};
};

TEST_F(Cgroups, TheTightestLevelOfTheSecondVersionCounts) {
  write("memory.max", "max");
  write("memory.current", "5000");
  write("a/memory.max", "1000");
  write("a/memory.current", "700");
  write("a/memory.stat", "anon 500\ninactive_file 100\nactive_file 50");
  write("a/cpu.max", "150000 100000");
  write("a/b/memory.max", "900");
  write("a/b/memory.current", "200");
  write("a/b/cpu.max", "max 100000");
  const CgroupRoom room = cgroup_room("0::/a/b\n", mounted("/", "", "cgroup2", "nsdelegate"));
  EXPECT_EQ(room.memory_bytes, 400);
  EXPECT_EQ(room.cores, 1.5);
  EXPECT_EQ(cgroup_room("0::/\n", mounted("/", "", "cgroup2", "")).memory_bytes, std::nullopt);
}

TEST_F(Cgroups, WhatThrottlesIsALimit) {
  write("memory.max", "1000");
  write("memory.high", "800");
  write("memory.current", "300");
  EXPECT_EQ(cgroup_room("0::/\n", mounted("/", "", "cgroup2", "")).memory_bytes, 500);
}

TEST_F(Cgroups, TheFirstVersionHasAMountForEachController) {
  write("memory/job/memory.limit_in_bytes", "1000");
  write("memory/job/memory.usage_in_bytes", "400");
  write("memory/job/memory.stat", "inactive_file 1\nhierarchical_memory_limit 700\ntotal_inactive_file 50");
  write("memory/memory.limit_in_bytes", "9223372036854771712");
  write("memory/memory.usage_in_bytes", "600");
  write("cpu/cpu.cfs_quota_us", "400000");
  write("cpu/cpu.cfs_period_us", "100000");
  write("cpu/job/cpu.cfs_quota_us", "-1");
  write("cpu/job/cpu.cfs_period_us", "100000");
  const CgroupRoom room =
      cgroup_room("9:name=systemd:/\n4:memory:/job\n2:cpu,cpuacct:/job\n0::/\n",
                  mounted("/", "memory", "cgroup", "memory") + mounted("/", "cpu", "cgroup", "cpu,cpuacct"));
  EXPECT_EQ(room.memory_bytes, 350);
  EXPECT_EQ(room.cores, 4);
}

TEST_F(Cgroups, AContainerSeesItsOwnRoot) {
  write("memory.max", "1000");
  write("memory.current", "100");
  write("below/memory.max", "500");
  write("below/memory.current", "100");
  const auto room = [&](const std::string& cgroup, const std::string& group) {
    return cgroup_room(cgroup, mounted(group, "", "cgroup2", "")).memory_bytes;
  };
  EXPECT_EQ(room("0::/docker/1f\n", "/docker/1f"), 900);
  EXPECT_EQ(room("0::/docker/1f/below\n", "/docker/1f"), 400);
  EXPECT_EQ(room("0::/docker/1f\n", "/"), 900);  // of another namespace
  EXPECT_EQ(room("0::/../../else\n", "/"), 900);
}

TEST_F(Cgroups, WhatCannotBeReadLimitsNothing) {
  write("memory.max", "word");
  write("memory.current", "");
  for (const char* line : {"", "\n", "0:", "x", "0::/nowhere\n", "4:memory:/\n"}) {
    const CgroupRoom room = cgroup_room(line, mounted("/", "", "cgroup2", "") + "a b c\n- - -\n");
    EXPECT_FALSE(room.memory_bytes || room.cores) << line;
  }
}

TEST_F(Cgroups, PathsMayHaveBlanks) {
  write("a b/memory.max", "1000");
  write("a b/memory.current", "100");
  EXPECT_EQ(cgroup_room("0::/\n", mounted("/", "a\\040b", "cgroup2", "")).memory_bytes, 900);
}

}  // namespace
}  // namespace temper
