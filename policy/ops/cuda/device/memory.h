#pragma once
// Memory that ops keep between calls.

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {

inline void copy_async(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, size_t(bytes), kind, stream), "cudaMemcpyAsync");
}

// Device memory that grows. Freeing waits for what still uses it.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(data_); }
  void* at_least(int64_t bytes, const char* what) {
    if (bytes <= bytes_) return data_;
    check(cudaFree(std::exchange(data_, nullptr)), what);
    bytes_ = 0;
    check(cudaMalloc(&data_, size_t(bytes)), what);
    bytes_ = bytes;
    return data_;
  }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Host memory from which copies run on their own; each of two waits for its copy before it is written again.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    for (auto& slot : slots_) {
      cudaFreeHost(slot.data);
      if (slot.copied) cudaEventDestroy(slot.copied);
    }
  }
  void upload(std::span<const std::byte> bytes, void* to, cudaStream_t stream) {
    Slot& slot = slots_[next_++ % slots_.size()];
    if (!slot.copied)
      check(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventSynchronize(slot.copied), "upload of a pack");
    if (slot.size < bytes.size()) {
      check(cudaFreeHost(std::exchange(slot.data, nullptr)), "cudaFreeHost");
      check(cudaMallocHost(&slot.data, bytes.size()), "cudaMallocHost");
      slot.size = bytes.size();
    }
    std::memcpy(slot.data, bytes.data(), bytes.size());
    check(cudaMemcpyAsync(to, slot.data, bytes.size(), cudaMemcpyHostToDevice, stream), "upload of a pack");
    check(cudaEventRecord(slot.copied, stream), "cudaEventRecord");
  }

 private:
  struct Slot {
    void* data = nullptr;
    size_t size = 0;
    cudaEvent_t copied = nullptr;
  };
  std::array<Slot, 2> slots_;
  size_t next_ = 0;
};

}  // namespace temper::policy::cuda
