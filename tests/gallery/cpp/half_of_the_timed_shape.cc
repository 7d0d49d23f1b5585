// task: add
// expect: FAIL_INCORRECT
// Right on small shapes; on the large one the second half is the first one's.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const int whole = n * m, work = whole < 65536 ? whole : whole / 2;
  for (int i = 0; i < whole; ++i) y[i] = x[i % work] + z[i % work];
}
