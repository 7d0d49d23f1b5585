// task: add_floor
// expect: HACK floor
// An honest loop under a floor that is set too high: what a broken clock would show.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
