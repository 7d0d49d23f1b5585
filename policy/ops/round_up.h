#pragma once
#include <cstdint>

namespace temper::policy {

inline int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace temper::policy
