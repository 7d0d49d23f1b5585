#pragma once
// Ranges of files into tensors and tensors out to files, wherever they lie, without a second whole copy in
// host memory.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "policy/not_finite.h"
#include "policy/safetensors.h"

namespace temper {

// to.numel() numbers of a file.
struct FileRange {
  const SafetensorsFile* file;
  uint64_t begin;       // byte of the file
  at::ScalarType type;  // they are stored in
  at::Tensor to;        // [n]; the same type or another
  std::string name;     // of the tensor, for errors
};

// Reads all of them, converted, on several threads; returns what of them is not finite. Errors: WorldError of
// a file that cannot be read.
NotFinite read_ranges(const std::vector<FileRange>& ranges);

// A tensor in the store, wherever it lies, to be written in another type.
MadeTensor made_from(const at::Tensor& values, at::ScalarType stored);

}  // namespace temper
