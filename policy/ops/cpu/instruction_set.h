#pragma once
// The ops of this folder for the CPU are a shared library that is built several times. The dynamic loader
// takes the last of x86-64, x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512) that the machine's processor knows:
// `glibc-hwcaps` in ld.so(8).
//
// Exact: one process has one of them for sampling and for training. Two of them differ in rounding.

namespace temper::policy::cpu {

// Which one this process has.
const char* instruction_set();

}  // namespace temper::policy::cpu
