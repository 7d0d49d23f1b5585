// Host memory that a GPU can read and write without the host's help. Torch's allocator rounds such memory up to a power of two,
// which for a policy's moments would waste up to half of it.

#include <ATen/ATen.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "policy/ops/cuda/ops.h"
#include "policy/threads.h"

namespace temper::policy::cuda {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kTouched = size_t(256) << 20;  // bytes that a thread takes at once

// The host gives a page when it is written to first, which one thread does at a few GB/s.
void touch(std::byte* data, size_t bytes) {
  on_threads(int64_t((bytes + kTouched - 1) / kTouched), file_threads(), [=](int64_t i, int) {
    const size_t begin = size_t(i) * kTouched, end = std::min(bytes, begin + kTouched);
    for (size_t at = begin; at < end; at += kPage) static_cast<volatile std::byte*>(data)[at] = std::byte{0};
  });
}

}  // namespace

at::Tensor host_zeros(int64_t size, at::ScalarType type, const char* what) {
  const size_t bytes = std::max<size_t>(1, size_t(size) * c10::elementSize(type));
  const auto refuse = [bytes, what](const char* why) {
    throw WorldError("there is no memory for {} MiB of {} on this host: {}", bytes >> 20, what, why);
  };
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) refuse(std::strerror(errno));
  ::madvise(data, bytes, MADV_HUGEPAGE);
  touch(static_cast<std::byte*>(data), bytes);
  if (const cudaError_t error = cudaHostRegister(data, bytes, cudaHostRegisterDefault);
      error != cudaSuccess) {
    cudaGetLastError();
    ::munmap(data, bytes);
    refuse(cudaGetErrorString(error));
  }
  const auto give_back = [bytes](void* memory) {
    cudaHostUnregister(memory);
    ::munmap(memory, bytes);
  };
  return at::from_blob(data, {size}, give_back, at::TensorOptions().dtype(type));
}

}  // namespace temper::policy::cuda
