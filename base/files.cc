#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/process.h"

namespace temper {
namespace fs = std::filesystem;
namespace {

std::function<void(const char*, const fs::path&)> g_watcher;

struct Guarded {
  fs::path folder;
  WriteGuard guard;
};
std::mutex g_guarding;
Guarded g_guarded;

bool lies_in(const fs::path& folder, const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return std::mismatch(folder.begin(), folder.end(), whole.begin(), whole.end()).first == folder.end();
}

// To be held until the call is done.
[[nodiscard]] std::shared_ptr<void> announce(const char* call, const fs::path& path) {
  if (g_watcher) g_watcher(call, path);
  return guarded(path);
}

template <class F>
void read_chunks(const fs::path& path, const F& take) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw system_error(fmt::format("open {}", path.string()));
  std::vector<char> chunk(1 << 16);
  for (;;) {
    const ssize_t n = ::read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(fmt::format("read {}", path.string()));
    if (n == 0) return;
    take(chunk.data(), size_t(n));
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::string content;
  read_chunks(path, [&](const char* data, size_t size) { content.append(data, size); });
  return content;
}

AppendFile::AppendFile(fs::path path) : path_(std::move(path)) {
  const auto held = announce("open", path_);
  fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd_) throw system_error(fmt::format("open {}", path_.string()));
}

void AppendFile::append(std::string_view record) {
  const auto held = announce("append", path_);
  struct stat before {};
  if (::fstat(fd_.get(), &before) != 0) throw system_error(fmt::format("look at {}", path_.string()));
  for (size_t written = 0; written < record.size();) {
    const ssize_t n = ::write(fd_.get(), record.data() + written, record.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const WorldError error = system_error(fmt::format("write {}", path_.string()));
      if (written > 0 && ::ftruncate(fd_.get(), before.st_size) != 0)
        throw WorldError("{}, and half a record stays at its end", error.what());
      throw error;
    }
    written += size_t(n);
  }
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)) {
  const auto held = announce("open", path_);
  fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd_) throw system_error(fmt::format("create {}", path_.string()));
}

void OutputFile::write(const void* data, size_t size) {
  write_at(position_, data, size);
  position_ += size;
}

void OutputFile::write_at(uint64_t begin, const void* data, size_t size) {
  constexpr size_t kMost = size_t(1) << 30;  // of one call
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const auto held = announce("write", path_);
    const ssize_t n = ::pwrite(fd_.get(), at, std::min(size, kMost), off_t(begin));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(fmt::format("write {}", path_.string()));
    at += n;
    begin += uint64_t(n);
    size -= size_t(n);
  }
}

void OutputFile::close() {
  const auto held = announce("fsync", path_);
  if (::fsync(fd_.get()) != 0) throw system_error(fmt::format("fsync {}", path_.string()));
  fd_ = Fd();
}

void write_file(const fs::path& path, std::string_view content) {
  OutputFile file(path);
  file.write(content.data(), content.size());
  file.close();
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  const fs::path beside = fmt::format("{}.tmp{}", path.string(), ::getpid());
  try {
    write_file(beside, content);
    rename_path(beside, path);
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
}

void make_folder(const fs::path& path) {
  const auto held = announce("mkdir", path);
  if (::mkdir(path.c_str(), 0755) != 0) throw system_error(fmt::format("create {}", path.string()));
}

void rename_path(const fs::path& from, const fs::path& to) {
  const auto held = announce("rename", to);
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw system_error(fmt::format("rename {} to {}", from.string(), to.string()));
}

void sync_path(const fs::path& path) {
  const auto held = announce("fsync", path);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) throw system_error(fmt::format("fsync {}", path.string()));
}

void remove_folder(const fs::path& path) {
  const fs::path aside = path.string() + ".removed";
  std::error_code error;
  if (fs::exists(aside)) {
    const auto held = guarded(aside);
    fs::remove_all(aside, error);
  }
  rename_path(path, aside);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(aside)) files.push_back(entry.path());
  for (const fs::path& file : files) {
    const auto held = announce("unlink", file);
    fs::remove_all(file, error);
  }
  const auto held = announce("rmdir", aside);
  if (!fs::remove(aside, error)) throw WorldError("cannot remove {}: {}", aside.string(), error.message());
}

bool exchange_paths(const fs::path& from, const fs::path& to) {
  const auto held = announce("rename", to);
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return false;
  throw system_error(fmt::format("exchange {} and {}", from.string(), to.string()));
}

void cut_file(const fs::path& path, uint64_t bytes) {
  const auto held = announce("truncate", path);
  if (::truncate(path.c_str(), off_t(bytes)) != 0) throw system_error(fmt::format("cut {}", path.string()));
}

void guard_writes(const fs::path& folder, WriteGuard guard) {
  const std::scoped_lock lock(g_guarding);
  g_guarded = {guard ? fs::absolute(folder).lexically_normal() : fs::path(), std::move(guard)};
}

std::shared_ptr<void> guarded(const fs::path& path) {
  WriteGuard guard;
  {
    const std::scoped_lock lock(g_guarding);
    if (g_guarded.guard && lies_in(g_guarded.folder, path)) guard = g_guarded.guard;
  }
  return guard ? guard() : nullptr;
}

void watch_file_calls(std::function<void(const char*, const fs::path&)> watcher) {
  g_watcher = std::move(watcher);
}

std::string sha256(std::string_view content) {
  Sha256 digest;
  digest.add(content.data(), content.size());
  return digest.hex();
}

std::string sha256_of_file(const fs::path& path) {
  Sha256 digest;
  read_chunks(path, [&](const char* data, size_t size) { digest.add(data, size); });
  return digest.hex();
}

struct Sha256::Impl {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  TEMPER_CHECK(EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;

void Sha256::add(const void* data, size_t size) {
  TEMPER_CHECK(EVP_DigestUpdate(impl_->context.get(), data, size) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  TEMPER_CHECK(EVP_DigestFinal_ex(impl_->context.get(), digest.data(), &size) == 1);
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
