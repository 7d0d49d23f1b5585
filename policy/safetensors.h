#pragma once
// The safetensors format: 8 bytes little-endian N, N bytes of JSON {name: {dtype, shape, data_offsets}}, the
// data.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"

namespace temper {

struct StoredTensor {
  std::string dtype;  // the format's name: F32, BF16, …
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // row-major, little-endian
};

// One file, mapped for as long as this lives.
class SafetensorsFile {
 public:
  // Nothing in the header is believed before it is checked: its length against the file's, every shape
  // against its bytes, all bytes of the data used once. Errors: ConfigError naming the file and the tensor;
  // WorldError if the file cannot be read.
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) = delete;

  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }  // the whole file

 private:
  void read_header(const std::string& path);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, StoredTensor> tensors_;
};

// Tensors in map order; fsynced. `digest` gets all that is written. Errors: WorldError naming the path.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, StoredTensor>& tensors,
                       Sha256* digest = nullptr);

}  // namespace temper
