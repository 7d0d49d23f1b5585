#pragma once
// Numbers of one floating-point type as those of another, rounded to nearest even as torch rounds them; on
// the calling thread alone.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>

namespace temper::policy {

// Safetensors' name: "BF16". Types: f32, f64, bf16 and f16.
const char* stored_name(at::ScalarType type);
// config.json's: "bfloat16".
const char* config_name(at::ScalarType type);
// The float type with that name, in either spelling. Undefined if it is none of the four.
at::ScalarType float_type(const std::string& name);

void convert_floats(const void* from, at::ScalarType from_type, void* to, at::ScalarType to_type,
                    int64_t count);

// How many of them are infinite or no number.
int64_t count_not_finite(const void* values, at::ScalarType type, int64_t count);

// The largest number of a type: 65504 of f16.
double largest_of(at::ScalarType type);

// Numbers that are finite, and infinite as numbers of another type.
struct TooLarge {
  int64_t count = 0, first = 0;  // `first`: the index of the first
  double value = 0;              // the first one's
};

// Converts as convert_floats does. `not_finite` gets the count of numbers that were not finite before.
TooLarge convert_and_count(const void* from, at::ScalarType from_type, void* to, at::ScalarType to_type,
                           int64_t count, int64_t& not_finite);

}  // namespace temper::policy
