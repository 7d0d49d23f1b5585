#pragma once
// One buffer that is handed out in pieces. The same code counts the bytes of a memory plan and hands them out, so that
// the plan cannot be wrong.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace temper::policy {

// Hands out pieces of a buffer; if `base` is null it only counts their bytes.
class Arena {
 public:
  explicit Arena(std::byte* base = nullptr) : base_(base) {}

  template <class T>
  T* take(int64_t count) {
    T* piece = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += (count * int64_t(sizeof(T)) + kAlign - 1) / kAlign * kAlign;
    return piece;
  }
  // What the one takes and what the other takes lie at the same place.
  template <class One, class Other>
  void overlay(const One& one, const Other& other) {
    const int64_t begin = used_;
    one();
    const int64_t end = std::exchange(used_, begin);
    other();
    used_ = std::max(used_, end);
  }
  int64_t used() const { return used_; }

 private:
  static constexpr int64_t kAlign = 256;  // what cuBLASLt takes for granted
  std::byte* base_;
  int64_t used_ = 0;
};

// Memory kept from call to call; grows to the largest layout.
class Workspace {
 public:
  explicit Workspace(at::Device device) : device_(device) {}

  // Calls pieces(Arena&) twice, first to count bytes and then to hand out memory. Pieces that an earlier call handed
  // out become invalid.
  template <class Pieces>
  auto lay_out(const Pieces& pieces) {
    Arena counter;
    pieces(counter);
    Arena arena(reserve(counter.used()));
    return pieces(arena);
  }
  // Until the next layout there is no memory.
  void release() {
    memory_ = at::Tensor();
    bytes_ = 0;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* reserve(int64_t bytes);

  at::Device device_;
  at::Tensor memory_;
  int64_t bytes_ = 0;
};

}  // namespace temper::policy
