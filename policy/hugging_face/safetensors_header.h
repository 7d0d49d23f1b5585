#pragma once
// The JSON in front of a safetensors file's data: {name: {dtype, shape, data_offsets}}.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace temper {

// Where a tensor lies, checked against the file.
struct TensorPlace {
  std::string dtype;  // the format's name: F32, BF16, …
  std::vector<int64_t> shape;
  uint64_t begin = 0, bytes = 0;  // row-major, little-endian; `begin` counts from the file's first byte
};

// `data_begin` and `data_bytes` say where the data lies in the file. Checked are every shape against its
// bytes, and that all bytes of the data are used once. Errors: ConfigError beginning with `path`.
std::map<std::string, TensorPlace> read_safetensors_header(std::string_view text, const std::string& path,
                                                           uint64_t data_begin, uint64_t data_bytes);

}  // namespace temper
