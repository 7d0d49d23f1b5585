#include "base/input/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper {
namespace {

// Folders of the Hugging Face cache consist of links, which a copy can leave without their files.
std::string missing_target(const std::string& name) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(name, error);
  return error ? "" : fmt::format("; it is a link to {}", printable(target.string()));
}

[[noreturn]] void cannot_open(const std::string& name) {
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      throw ConfigError("{}: no such file{}", name, missing_target(name));
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
      throw ConfigError("{}: cannot be opened: {}", name, std::strerror(errno));
    default:
      throw system_error("open " + name);
  }
}

// What a clone without Git LFS has in place of a large file. Source: git-lfs's specification, "The Pointer".
void refuse_lfs_pointer(const InputFile& file, const std::string& name) {
  constexpr std::string_view kFirst = "version https://git-lfs.github.com/spec/";
  constexpr uint64_t kMostBytes = 1024;
  std::array<char, kFirst.size()> begin;
  if (file.bytes < begin.size() || file.bytes >= kMostBytes) return;
  const ssize_t n = ::pread(file.fd.get(), begin.data(), begin.size(), 0);
  if (n == ssize_t(begin.size()) && std::string_view(begin.data(), begin.size()) == kFirst)
    throw ConfigError(
        "{}: is a pointer of Git LFS, not the file itself; `git lfs pull` in its folder fetches it", name);
}

}  // namespace

// Without O_NONBLOCK a FIFO would keep us waiting.
InputFile open_input_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  InputFile file{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)), 0};
  if (!file.fd) cannot_open(name);
  struct stat info;
  if (::fstat(file.fd.get(), &info) != 0) throw system_error("stat " + name);
  if (!S_ISREG(info.st_mode)) throw ConfigError("{}: is not a regular file", name);
  file.bytes = uint64_t(info.st_size);
  refuse_lfs_pointer(file, name);
  return file;
}

// What is appended meanwhile is left out.
std::string read_input_file(const std::filesystem::path& path, uint64_t most_bytes) {
  const InputFile file = open_input_file(path);
  if (file.bytes > most_bytes)
    throw ConfigError("{}: {} bytes, at most {} are read", path.string(), file.bytes, most_bytes);
  std::string content(file.bytes, '\0');
  size_t read = 0;
  while (read < content.size()) {
    const ssize_t n = ::read(file.fd.get(), content.data() + read, content.size() - read);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("read " + path.string());
    if (n == 0) break;
    read += size_t(n);
  }
  content.resize(read);
  return content;
}

}  // namespace temper
