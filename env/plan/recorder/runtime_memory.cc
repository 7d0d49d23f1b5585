// The memory functions of the CUDA runtime that a candidate sees. Allocations become workspaces of the plan, and
// memsets and copies on the GPU become its steps. Copies from or to the host are refused.

#include <cuda_runtime_api.h>

#include "env/plan/recorder/errors.h"
#include "env/plan/recorder/recorder.h"

namespace temper::env {
namespace {

Recorder& recorder() { return Recorder::get(); }

cudaError_t error(int code, std::string words = "") {
  return cudaError_t(recorder().error(code, std::move(words)));
}

cudaError_t allocate(void** pointer, size_t bytes) {
  if (pointer == nullptr) return error(kInvalidValue);
  uint64_t address = 0;
  const int code = recorder().allocate(&address, bytes);
  if (code == kSuccess) *pointer = reinterpret_cast<void*>(address);
  return cudaError_t(code);
}

cudaError_t set(void* pointer, int value, size_t bytes) {
  const auto to = recorder().find(pointer);
  if (!to) return error(kInvalidValue, "cudaMemset of what is no GPU memory");
  recorder().memset(*to, uint8_t(value), int64_t(bytes));
  return cudaSuccess;
}

cudaError_t copy(void* to, const void* from, size_t bytes) {
  const auto target = recorder().find(to), source = recorder().find(from);
  if (target && source) {
    recorder().copy(*target, *source, int64_t(bytes));
    return cudaSuccess;
  }
  if (source)
    fail_plan("host_read",
              "a copy from the GPU to the host; launch cannot see data: let kernels decide by it");
  if (target)
    fail_plan("host_data",
              "a copy from the host to the GPU; pass values as kernel arguments, compute tables in a "
              "kernel, or make them __constant__");
  return error(kInvalidValue, "cudaMemcpy of what is no GPU memory");
}

constexpr size_t kPitch = 512;

}  // namespace
}  // namespace temper::env

using namespace temper::env;  // NOLINT: the functions below are C

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes); }
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) { return allocate(pointer, bytes); }
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return allocate(pointer, bytes);
}
cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr || width > (size_t(1) << 40) || height > (size_t(1) << 20))
    return error(kInvalidValue);
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return allocate(pointer, *pitch * height);
}
cudaError_t cudaFree(void* pointer) { return cudaError_t(recorder().release(uint64_t(pointer))); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (free == nullptr || total == nullptr) return error(kInvalidValue);
  *free = recorder().free_bytes();
  *total = size_t(recorder().target().memory_bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) { return set(pointer, value, bytes); }
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) {
  return set(pointer, value, bytes);
}
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  if (pitch == width) return set(pointer, value, width * height);
  if (pitch < width) return error(kInvalidPitchValue);
  cudaError_t code = cudaSuccess;
  for (size_t row = 0; row < height && code == cudaSuccess; ++row)
    code = set(static_cast<char*>(pointer) + row * pitch, value, width);
  return code;
}
cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t) {
  return cudaMemset2D(pointer, pitch, value, width, height);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return copy(to, from, bytes);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return copy(to, from, bytes);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind) {
  if (to_pitch == width && from_pitch == width) return copy(to, from, width * height);
  if (to_pitch < width || from_pitch < width) return error(kInvalidPitchValue);
  cudaError_t code = cudaSuccess;
  for (size_t row = 0; row < height && code == cudaSuccess; ++row)
    code = copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                width);
  return code;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return error(kInvalidValue);
  const auto place = recorder().find(pointer);
  *attributes = {};
  attributes->type = place ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = place ? 0 : -2;
  if (place) attributes->devicePointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

// The pool's settings change nothing that a plan has.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }

}  // extern "C"
