#pragma once
// What kernel_bench measures, for the files that say how each op is called.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "policy/ops/cuda/ops.h"

namespace temper::policy {

class Memory {
 public:
  explicit Memory(int64_t bytes) { cuda::check(cudaMalloc(&data_, size_t(bytes)), "kernel bench: memory"); }
  ~Memory() { cudaFree(data_); }
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// The numbers value(i).
template <class T, class F>
Memory filled(int64_t count, const F& value) {
  std::vector<T> host(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) host[size_t(i)] = T(value(i));
  Memory memory(count * int64_t(sizeof(T)));
  cuda::check(cudaMemcpy(memory.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
              "kernel bench");
  return memory;
}

// One kernel: what a call moves, the buffers it wants as numbers of bytes, and the call with those buffers.
struct Bench {
  std::string name;
  int64_t bytes;
  std::vector<int64_t> buffers;
  std::function<void(void* const*, cudaStream_t)> call;
  int squares = -1;  // the buffer that must not hold negative numbers
  double operations = 0;
};

template <class T>
T* as(void* pointer) {
  return static_cast<T*>(pointer);
}

inline AttentionShape bench_heads(int64_t width) {
  return {width / 128, std::max<int64_t>(1, width / 128 / 4), 128};
}

// The products of decoding few rows, and of training `rows`.
std::vector<Bench> product_benches(int64_t rows, int64_t width, int64_t vocab);

// Packed attention of two sequences of half the rows each, and over pages for batches of decoding.
std::vector<Bench> attention_benches(int64_t rows, int64_t width);

}  // namespace temper::policy
