#pragma once
// A vector of as many numbers as the machine adds at once. With plain arrays the compiler may not keep them in
// registers.

#include <cstdint>

namespace temper::policy::cpu {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
  static constexpr int64_t kCount = kVectorBytes / sizeof(T);

  static const Vector& load(const T* x) { return *reinterpret_cast<const Vector*>(x); }
  static void store(T* x, const Vector& v) { *reinterpret_cast<Vector*>(x) = v; }
};

}  // namespace temper::policy::cpu
