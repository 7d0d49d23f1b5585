#pragma once
// The JSON before a safetensors file's data: {name: {dtype, shape, data_offsets}}.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace temper::policy {

// The position of a tensor in the file, checked against the file's size.
struct TensorPlace {
  std::string dtype;  // the format's name: F32, BF16, …
  std::vector<int64_t> shape;
  uint64_t begin = 0, bytes = 0;  // row-major, little-endian; `begin` counts from the file's first byte
};

// Reads a header; the data is at `data_begin` of the file and has `data_bytes` bytes. Checks every shape against its
// bytes, and that every byte of the data is used once. Errors: ConfigError beginning with `path`.
std::map<std::string, TensorPlace> read_safetensors_header(std::string_view text, const std::string& path,
                                                           uint64_t data_begin, uint64_t data_bytes);

}  // namespace temper::policy
