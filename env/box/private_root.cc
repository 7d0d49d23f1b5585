#include "env/box/private_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "env/box/namespaces.h"

namespace temper::env {
namespace fs = std::filesystem;
namespace {

// A folder that exists and holds nothing of what is wanted: only our namespace sees what lies on it.
std::string mount_point(const std::vector<std::string>& wanted) {
  for (const std::string folder : {"/tmp", "/mnt", "/srv", "/media", "/var"})
    if (fs::is_directory(folder) &&
        std::ranges::none_of(wanted, [&](const std::string& path) { return path.starts_with(folder + "/"); }))
      return folder;
  throw WorldError("no folder is left to mount a private root on");
}

void check(int result, const std::string& what) {
  if (result != 0) throw namespace_error(what);
}

// A folder, a file or a device.
void bind_mount(const std::string& path, const std::string& inside, uint64_t attributes) {
  check(::mount(path.c_str(), inside.c_str(), nullptr, MS_BIND | MS_REC, nullptr), "bind " + path);
  mount_attr wanted{};
  wanted.attr_set = attributes;
  check(::mount_setattr(AT_FDCWD, inside.c_str(), AT_RECURSIVE, &wanted, sizeof wanted),
        "make " + path + " read-only");
}

void bind_file(const std::string& path, const std::string& inside) {
  fs::create_directories(fs::path(inside).parent_path());
  const Fd place(::open(inside.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  check(place ? 0 : -1, "make a place for " + path);
  bind_mount(path, inside, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID);
}

void bind_folder(const std::string& folder, const std::string& inside) {
  if (fs::is_symlink(folder)) {
    fs::create_symlink(fs::read_symlink(folder), inside);
    return;
  }
  fs::create_directories(inside);
  bind_mount(folder, inside, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

}  // namespace

void enter_private_root(int64_t bytes, const std::vector<std::string>& read_only, bool processes) {
  const std::string root = mount_point(read_only);
  check(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
  const std::string size = fmt::format("size={},nr_inodes=256,mode=0755", bytes);
  check(::mount("tmpfs", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()), "mount a private root");
  for (const auto& path : read_only) {
    if (fs::exists(root + path) || !fs::exists(path)) continue;
    fs::is_directory(path) ? bind_folder(path, root + path) : bind_file(path, root + path);
  }
  if (processes) {
    fs::create_directory(root + "/proc");
    check(::mount("proc", (root + "/proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr),
          "mount a /proc of our own");
  }
  check(::chdir(root.c_str()), "enter the private root");
  check(int(::syscall(SYS_pivot_root, ".", ".")), "pivot to the private root");
  check(::umount2(".", MNT_DETACH), "leave the machine's root");
  check(::chdir("/"), "enter the private root");
}

void make_root_folder(const char* path, mode_t mode) {
  fs::create_directory(path);  // it is there where a file in it was asked for
  check(::chmod(path, mode), fmt::format("make {}", path));
}

}  // namespace temper::env
