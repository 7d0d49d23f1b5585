#pragma once
// Names of kernels as their authors wrote them.

#include <string>
#include <string_view>

namespace temper {

inline constexpr size_t kMaxKernelTitleBytes = 40;

// "_Z7softmaxILi256EfEvPKfPfi" → "softmax<256,float>": the function's own name, and template arguments where
// they are numbers, built-in types or names. What is not understood is left out, or left as it is. The name
// is a stranger's: this reads no more than it is given and takes time proportional to that, which demanglers
// in general do not.
std::string kernel_title(std::string_view mangled);

}  // namespace temper
