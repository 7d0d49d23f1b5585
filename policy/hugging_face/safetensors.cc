#include "policy/hugging_face/safetensors.h"

#include <unistd.h>

#include "base/error.h"
#include "base/input/file.h"

namespace temper::policy {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kLengthBytes = 8;

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path) : path_(std::move(path)) {
  const std::string name = path_.string();
  auto [fd, size] = open_input_file(path_);
  file_ = std::move(fd);
  bytes_ = size;
  if (size < kLengthBytes)
    throw ConfigError("{}: {} bytes are no safetensors file; fetch or write it again", name, size);
  uint64_t length;
  read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeaderBytes)
    throw ConfigError("{}: header of {} bytes: it is no safetensors file", name, length);
  if (length > size - kLengthBytes)
    throw ConfigError(
        "{}: is cut short, or no safetensors file: its header alone would have {} bytes, the file has {}",
        name, length, size);
  std::string text(length, ' ');
  read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  const uint64_t data_begin = kLengthBytes + length;
  tensors_ = read_safetensors_header(text, name, data_begin, size - data_begin);
}

void SafetensorsFile::read(uint64_t begin, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t n = ::pread(file_.get(), to.data(), to.size(), off_t(begin));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(fmt::format("read {}", path_.string()));
    if (n == 0) throw WorldError("{}: became shorter while it was read", path_.string());
    begin += uint64_t(n);
    to = to.subspan(size_t(n));
  }
}

std::vector<std::byte> SafetensorsFile::read(const std::string& tensor) const {
  const TensorPlace& place = tensors_.at(tensor);
  std::vector<std::byte> data(place.bytes);
  read(place.begin, data);
  return data;
}

}  // namespace temper::policy
