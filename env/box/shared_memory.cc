#include "env/box/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"

namespace temper::env {

Mapping::Mapping(int file, int64_t bytes) : bytes_(bytes) {
  void* data = ::mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) throw system_error("map shared memory");
  ::madvise(data, size_t(bytes), MADV_DONTFORK);  // of no concern to other boxes
  data_ = static_cast<uint8_t*>(data);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_t(bytes_));
}

Fd sealed_memory(const char* name, int64_t bytes) {
  Fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), bytes) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw system_error(fmt::format("make {} bytes of shared memory", bytes));
  return file;
}

Fd memory_with(const char* name, const std::string& content) {
  Fd file = sealed_memory(name, int64_t(content.size()));
  const Mapping memory(file.get(), int64_t(content.size()));
  std::copy(content.begin(), content.end(), memory.data());
  return file;
}

Mapping map_whole(int file) {
  struct stat info {};
  if (::fstat(file, &info) != 0) throw system_error("look at shared memory");
  return {file, info.st_size};
}

}  // namespace temper::env
