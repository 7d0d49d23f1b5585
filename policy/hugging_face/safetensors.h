#pragma once
// The safetensors format: 8 bytes little-endian N, N bytes of JSON {name: {dtype, shape, data_offsets}}, the
// data.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "policy/hugging_face/safetensors_header.h"

namespace temper::policy {

// One file, open for as long as this lives. It is not mapped: a file that somebody cuts short meanwhile is an
// error and not the end of the process.
class SafetensorsFile {
 public:
  // Reads only the header and checks all of it: its length against the file's, every shape against its bytes, and
  // that every byte of the data is used once. Errors: ConfigError naming the file and the tensor; WorldError if the
  // file cannot be read.
  explicit SafetensorsFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, TensorPlace>& tensors() const { return tensors_; }
  uint64_t bytes() const { return bytes_; }  // of the whole file, when it was opened

  // The file's bytes from `begin` on. Any thread may call it. Errors: WorldError naming the path.
  void read(uint64_t begin, std::span<std::byte> to) const;
  std::vector<std::byte> read(const std::string& tensor) const;  // one of tensors()

 private:
  std::filesystem::path path_;
  Fd file_;
  uint64_t bytes_ = 0;
  std::map<std::string, TensorPlace> tensors_;
};

// A tensor in memory, to be written.
struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // row-major, little-endian
};

// A tensor that is made while it is written, piece by piece, in any order, by several threads.
struct MadeTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  // Its bytes [begin, begin + size), perhaps in `scratch`.
  std::function<std::span<const std::byte>(uint64_t begin, uint64_t size, std::vector<std::byte>& scratch)>
      part;
};

// Writes the tensors in map order, with `threads` threads, and syncs the file. Returns the digest of the file's
// pieces (policy/parameters/piece_digest.h) if it is wanted. Errors: WorldError naming the path.
std::string write_safetensors(const std::filesystem::path& path,
                              const std::map<std::string, MadeTensor>& tensors, int threads,
                              bool digest = false);
std::string write_safetensors(const std::filesystem::path& path,
                              const std::map<std::string, StoredTensor>& tensors, int threads = 1,
                              bool digest = false);

}  // namespace temper::policy
