// task: add
// expect: PASS
// Defines functions that the runner uses; it uses its own.

extern "C" int clock_gettime(int, void*) { return 0; }
extern "C" long syscall(long, ...) { return 0; }
extern "C" void _exit(int) {
  for (;;) {
  }
}

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
