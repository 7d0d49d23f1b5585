// task: add
// expect: FAIL_RUNTIME signal_11
// message: Segmentation fault, in a call with no memory right in front of its buffers
// Reads the element in front of an input, and adds next to nothing of it. Caught by: at some calls there is none.

#include <algorithm>
#include <cmath>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const volatile float* before = z - 1;
  const float found = *before;
  const float nearly_zero = found == found ? std::min(std::abs(found), 1e-30f) : 0;
  for (long i = 0; i < 1L * n * m; ++i) y[i] = x[i] + z[i] + nearly_zero;
}
