#pragma once
// Inspects CUDA C++ source without a compiler.

#include <string>

namespace temper::env {

// The line before a candidate's own text. Everything before it in a unit is ours.
inline constexpr const char* kOwnText = "#line 1 \"candidate.cu\"\n";

// Whether "__device__" or "__host__" follows a closing bracket, as after a lambda's captures.
bool has_extended_lambda(const std::string& source);

// The unit with the bodies of its kernels emptied: what its host half is compiled from, and what candidates
// share that differ in those bodies alone. A kernel is `__global__ … void … name(…) {`; a body with
// preprocessor lines other than `#pragma unroll` stays. Lines keep their numbers where the unit asks for
// them. The unit itself where bodies may matter to the host (lambdas for kernels, __COUNTER__,
// __CUDA_ARCH__), and where it is written so oddly that it is not certain what is a body.
std::string host_text(const std::string& unit);

}  // namespace temper::env
