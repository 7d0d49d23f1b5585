#pragma once
// exp that compilers vectorise.

#include <bit>
#include <cmath>
#include <cstdint>

namespace temper::policy::cpu {

// Within 2 ulp on [-87, 88]; 0 below, exp(88) above. e^x = 2^n · e^r, n = round(x / ln 2), e^r by a
// polynomial fitted at the Chebyshev nodes of |r| ≤ ln(2) / 2.
inline float vector_exp(float x) {
  constexpr float kShift = 0x1.8p23f;  // added and taken away again, it leaves the nearest integer
  constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  const float high = x < 88.0f ? x : 88.0f;
  const float bounded = high > -87.0f ? high : -87.0f;
  const float shifted = bounded * 0x1.715476p0f + kShift;
  const float n = shifted - kShift;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  float p = 0.00139261817f;
  p = p * r + 0.00836317800f;
  p = p * r + 0.0416665561f;
  p = p * r + 0.166665763f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  const int32_t result = std::bit_cast<int32_t>(p) + (std::bit_cast<int32_t>(shifted) << 23);
  return std::bit_cast<float>(result & -int32_t(!(x < -87.0f)));  // a choice between floats may become a jump
}

inline double vector_exp(double x) { return std::exp(x); }

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + vector_exp(-x));
}

}  // namespace temper::policy::cpu
