#pragma once
// Part of a text.

#include <cstddef>

namespace temper::policy {

struct TextRange {
  size_t begin = 0, end = 0;  // bytes [begin, end)
};

}  // namespace temper::policy
