#include "env/box/private_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>

#include "base/error.h"
#include "env/box/namespaces.h"

namespace temper::env {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMountPoint =
    "/tmp";  // any folder that exists; only our namespace sees what lies on it

void check(int result, const std::string& what) {
  if (result != 0) throw namespace_error(what);
}

void bind_device(const std::string& device) {
  const std::string inside = kMountPoint + device;
  fs::create_directories(fs::path(inside).parent_path());
  const Fd place(::open(inside.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
  check(place ? 0 : -1, "make a place for " + device);
  check(::mount(device.c_str(), inside.c_str(), nullptr, MS_BIND, nullptr), "bind " + device);
}

void bind_read_only(const std::string& folder) {
  const std::string inside = kMountPoint + folder;
  if (fs::is_symlink(folder)) {
    fs::create_symlink(fs::read_symlink(folder), inside);
    return;
  }
  fs::create_directories(inside);
  check(::mount(folder.c_str(), inside.c_str(), nullptr, MS_BIND | MS_REC, nullptr), "bind " + folder);
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  check(::mount_setattr(AT_FDCWD, inside.c_str(), AT_RECURSIVE, &attributes, sizeof attributes),
        "make " + folder + " read-only");
}

}  // namespace

void enter_private_root(int64_t bytes, const std::vector<std::string>& read_only) {
  check(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make mounts private");
  const std::string size = fmt::format("size={},nr_inodes=256,mode=0755", bytes);
  check(::mount("tmpfs", kMountPoint, "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()), "mount a private root");
  for (const auto& path : read_only) {
    if (fs::is_character_file(path)) bind_device(path);
    if (fs::is_directory(path) && !fs::exists(kMountPoint + path)) bind_read_only(path);
  }
  check(::chdir(kMountPoint), "enter the private root");
  check(int(::syscall(SYS_pivot_root, ".", ".")), "pivot to the private root");
  check(::umount2(".", MNT_DETACH), "leave the machine's root");
  check(::chdir("/"), "enter the private root");
}

}  // namespace temper::env
