#pragma once
// Names of kernels as their authors wrote them.

#include <string>
#include <string_view>

namespace temper::env {

inline constexpr size_t kMaxKernelTitleBytes = 40;

// "_Z7softmaxILi256EfEvPKfPfi" → "softmax<256,float>": the function's own name, and template arguments where
// they are numbers, built-in types or names. Parts that are not understood are left out or left as they are. The
// name comes from untrusted code: unlike most demanglers, this one never reads past the end and takes linear time.
std::string kernel_title(std::string_view mangled);

}  // namespace temper::env
