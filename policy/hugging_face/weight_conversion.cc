#include "policy/hugging_face/weight_conversion.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace temper::policy {
namespace {

// Calls f with a value of the type.
template <class F>
auto with_type(at::ScalarType type, const F& f) {
  switch (type) {
    case at::kFloat:
      return f(float{});
    case at::kDouble:
      return f(double{});
    case at::kBFloat16:
      return f(c10::BFloat16{});
    default:
      TEMPER_CHECK(type == at::kHalf);
      return f(c10::Half{});
  }
}

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (sizeof(To) == 2)
    return To(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

// All bits of the exponent are set.
template <class Bits>
int64_t count_full_exponents(const Bits* values, int64_t count, Bits exponent) {
  int64_t full = 0;
  for (int64_t i = 0; i < count; ++i) full += (values[i] & exponent) == exponent;
  return full;
}

}  // namespace

const char* stored_name(at::ScalarType type) {
  return type == at::kDouble ? "F64" : type == at::kFloat ? "F32" : type == at::kBFloat16 ? "BF16" : "F16";
}

const char* config_name(at::ScalarType type) {
  return type == at::kDouble     ? "float64"
         : type == at::kFloat    ? "float32"
         : type == at::kBFloat16 ? "bfloat16"
                                 : "float16";
}

at::ScalarType float_type(const std::string& name) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    if (name == stored_name(type) || name == config_name(type)) return type;
  return at::ScalarType::Undefined;
}

void convert_floats(const void* from, at::ScalarType from_type, void* to, at::ScalarType to_type,
                    int64_t count) {
  with_type(from_type, [&](auto from_kind) {
    with_type(to_type, [&](auto to_kind) {
      using From = decltype(from_kind);
      using To = decltype(to_kind);
      const From* x = static_cast<const From*>(from);
      To* y = static_cast<To*>(to);
      for (int64_t i = 0; i < count; ++i) y[i] = converted<To>(x[i]);
    });
  });
}

int64_t count_not_finite(const void* values, at::ScalarType type, int64_t count) {
  switch (type) {
    case at::kDouble:
      return count_full_exponents(static_cast<const uint64_t*>(values), count, uint64_t(0x7ff) << 52);
    case at::kFloat:
      return count_full_exponents(static_cast<const uint32_t*>(values), count, uint32_t(0x7f800000));
    case at::kBFloat16:
      return count_full_exponents(static_cast<const uint16_t*>(values), count, uint16_t(0x7f80));
    default:
      TEMPER_CHECK(type == at::kHalf);
      return count_full_exponents(static_cast<const uint16_t*>(values), count, uint16_t(0x7c00));
  }
}

double largest_of(at::ScalarType type) {
  return with_type(type, [](auto kind) { return double(std::numeric_limits<decltype(kind)>::max()); });
}

TooLarge convert_and_count(const void* from, at::ScalarType from_type, void* to, at::ScalarType to_type,
                           int64_t count, int64_t& not_finite) {
  convert_floats(from, from_type, to, to_type, count);
  not_finite = count_not_finite(to, to_type, count);
  if (not_finite == 0 || from_type == to_type) return {};
  const int64_t infinite = not_finite;
  not_finite = count_not_finite(from, from_type, count);
  TooLarge found{.count = infinite - not_finite};
  if (found.count == 0) return found;
  with_type(from_type, [&](auto from_kind) {
    const auto* x = static_cast<const decltype(from_kind)*>(from);
    const auto is_too_large = [&](int64_t i) {
      return std::isfinite(double(x[i])) &&
             count_not_finite(static_cast<const std::byte*>(to) + i * int64_t(c10::elementSize(to_type)),
                              to_type, 1) > 0;
    };
    while (!is_too_large(found.first)) ++found.first;
    found.value = double(x[found.first]);
  });
  return found;
}

}  // namespace temper::policy
