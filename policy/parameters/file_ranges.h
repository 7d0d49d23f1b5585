#pragma once
// Ranges of files into tensors and tensors out to files, wherever they lie, without a second whole copy in
// host memory.

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "policy/hugging_face/safetensors.h"
#include "policy/hugging_face/weight_conversion.h"
#include "policy/parameters/not_finite.h"

namespace temper::policy {

// to.numel() numbers of a file.
struct FileRange {
  const SafetensorsFile* file;
  uint64_t begin;       // byte of the file
  at::ScalarType type;  // they are stored in
  at::Tensor to;        // [n]; the same type or another
  std::string name;     // the tensor's name, for errors, as what follows
  std::vector<int64_t> shape = {};
  int64_t first = 0;  // the index in the tensor of the range's first number
};

// Reads all of them, converted, on several threads; returns what of them is not finite. Errors: WorldError of
// a file that cannot be read; ConfigError of a number that is finite in its file only.
NotFinite read_ranges(const std::vector<FileRange>& ranges);

// Told of each piece with numbers that are not finite or that the other type cannot hold: the index of the piece's
// first number, how many were not finite, and what is too large. Any thread may call it.
using PieceListener = std::function<void(int64_t begin, int64_t not_finite, const TooLarge& too_large)>;

// A tensor in the store, wherever it lies, to be written in another type.
MadeTensor made_from(const at::Tensor& values, at::ScalarType stored, PieceListener listener = {});

// A tensor of a file, which must live as long, to be read and converted while it is written: no more than a
// piece of it is in memory.
MadeTensor made_from(const SafetensorsFile& file, const TensorPlace& place, at::ScalarType stored,
                     PieceListener listener);

}  // namespace temper::policy
