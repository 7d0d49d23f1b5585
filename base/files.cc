#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>

#include "base/error.h"
#include "base/process.h"

namespace temper {
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw system_error(fmt::format("open {}", path.string()));
  std::string content;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t n = ::read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(fmt::format("read {}", path.string()));
    if (n == 0) return content;
    content.append(chunk.data(), size_t(n));
  }
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  const fs::path beside = fmt::format("{}.tmp{}", path.string(), ::getpid());
  try {
    const Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) throw system_error(fmt::format("create {}", beside.string()));
    for (size_t done = 0; done < content.size();) {
      const ssize_t n = ::write(file.get(), content.data() + done, content.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw system_error(fmt::format("write {}", path.string()));
      done += size_t(n);
    }
    if (::fsync(file.get()) != 0) throw system_error(fmt::format("fsync {}", path.string()));
    if (::rename(beside.c_str(), path.c_str()) != 0)
      throw system_error(fmt::format("rename {}", path.string()));
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
}

std::string sha256(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  TEMPER_CHECK(EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

fs::path executable_dir() { return fs::read_symlink("/proc/self/exe").parent_path(); }

uint64_t free_disk_bytes(const fs::path& path) {
  std::error_code error;
  const auto space = fs::space(path, error);
  return error ? 0 : space.available;
}

}  // namespace temper
