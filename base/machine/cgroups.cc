#include "base/machine/cgroups.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace temper {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kNoLimit = int64_t(1) << 60;  // version 1 writes 2^63, rounded to pages, for none

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) return kNoLimit;
  if (error != std::errc() || end == text.data()) return std::nullopt;  // "max"
  return number;
}

std::optional<int64_t> number_of(const fs::path& path) { return number_in(text_of(path)); }

// The number behind a word that begins a line.
std::optional<int64_t> number_at(const fs::path& path, const std::string& word) {
  std::istringstream lines(text_of(path));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(word + " ")) return number_in(std::string_view(line).substr(word.size() + 1));
  return std::nullopt;
}

template <class T>
void lower(std::optional<T>& least, std::optional<T> value) {
  if (value && (!least || *value < *least)) least = value;
}

void see_memory(CgroupRoom& room, std::optional<int64_t> limit, std::optional<int64_t> used,
                std::optional<int64_t> reclaimable) {
  if (!limit || !used || *limit >= kNoLimit) return;
  lower(room.memory_bytes, std::optional(std::max<int64_t>(0, *limit - *used + reclaimable.value_or(0))));
}

void see_cores(CgroupRoom& room, std::optional<int64_t> quota, std::optional<int64_t> period) {
  if (quota && period && *quota > 0 && *period > 0)
    lower(room.cores, std::optional(double(*quota) / double(*period)));
}

void see_first_version(CgroupRoom& room, const fs::path& group) {
  const fs::path stat = group / "memory.stat";
  const auto used = number_of(group / "memory.usage_in_bytes"),
             cache = number_at(stat, "total_inactive_file");
  see_memory(room, number_of(group / "memory.limit_in_bytes"), used, cache);
  // Of the groups above as well, where a container does not see them.
  see_memory(room, number_at(stat, "hierarchical_memory_limit"), used, cache);
  see_cores(room, number_of(group / "cpu.cfs_quota_us"), number_of(group / "cpu.cfs_period_us"));
}

void see_second_version(CgroupRoom& room, const fs::path& group) {
  const auto used = number_of(group / "memory.current"),
             cache = number_at(group / "memory.stat", "inactive_file");
  for (const char* limit : {"memory.max", "memory.high"})
    see_memory(room, number_of(group / limit), used, cache);
  const std::string cpu = text_of(group / "cpu.max");  // "200000 100000"
  if (const size_t space = cpu.find(' '); space != std::string::npos)
    see_cores(room, number_in(cpu), number_in(std::string_view(cpu).substr(space + 1)));
}

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, between);) parts.push_back(part);
  return parts;
}

// mountinfo writes a blank as \040.
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 3 < text.size();
    out += escaped ? char((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')) : text[i];
    if (escaped) i += 3;
  }
  return out;
}

struct Mount {
  std::string root;  // the group that is mounted
  fs::path place;
  bool second_version;
  std::vector<std::string> controllers;
};

std::vector<Mount> cgroup_mounts(const std::string& mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string& line : parts_of(mountinfo, '\n')) {
    const auto words = parts_of(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const std::string& kind = dash[1];
    if (kind != "cgroup" && kind != "cgroup2") continue;
    mounts.push_back({unescaped(words[3]), unescaped(words[4]), kind == "cgroup2", parts_of(dash[3], ',')});
  }
  return mounts;
}

// Where the group is mounted. A container may see another root, and a path that is none under it.
fs::path place_of(const Mount& mount, const std::string& group) {
  const bool under = mount.root == "/" || group == mount.root || group.starts_with(mount.root + "/");
  const std::string below = under && mount.root != "/" ? group.substr(mount.root.size()) : group;
  const fs::path place = (mount.place / fs::path(below).relative_path()).lexically_normal();
  std::error_code ignored;
  const bool inside = place.native().starts_with(mount.place.native());
  return inside && fs::is_directory(place, ignored) ? place : mount.place;
}

void see_group(CgroupRoom& room, const Mount& mount, const std::string& group) {
  for (fs::path place = place_of(mount, group);; place = place.parent_path()) {
    (mount.second_version ? see_second_version : see_first_version)(room, place);
    if (place.native().size() <= mount.place.native().size()) return;
  }
}

}  // namespace

CgroupRoom cgroup_room(const std::string& cgroup, const std::string& mountinfo) {
  CgroupRoom room;
  const std::vector<Mount> mounts = cgroup_mounts(mountinfo);
  for (const std::string& line : parts_of(cgroup, '\n')) {  // "4:memory:/a/b", or "0::/a/b" in version 2
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = parts_of(line.substr(first + 1, second - first - 1), ',');
    for (const Mount& mount : mounts) {
      const auto has = [&](const std::string& name) {
        return std::ranges::count(mount.controllers, name) > 0;
      };
      const bool its = controllers.empty() ? mount.second_version
                                           : !mount.second_version && std::ranges::any_of(controllers, has);
      if (its) see_group(room, mount, line.substr(second + 1));
    }
  }
  return room;
}

CgroupRoom cgroup_room() {
  // A tree that is mounted at the usual place by other means, as sandboxes do, counts as one of version 2.
  constexpr const char* kUsual = "0 0 0:0 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
  return cgroup_room(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo") + kUsual);
}

}  // namespace temper
