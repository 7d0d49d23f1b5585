// task: add
// expect: FAIL_RUNTIME signal_11
// message: Segmentation fault, in a call with no memory right behind its buffers
// Reads one element behind an input, and takes it for one only where it is larger than all that it has ever seen there:
// what memory holds never tells. Caught by: at some calls there is none.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const long size = 1L * n * m;
  for (long i = 0; i < size; ++i) y[i] = x[i] + z[i] + (x[i + 1] > 1e37f ? x[i + 1] : 0);
}
