// task: add
// expect: FAIL_RUNTIME
// Thread bomb.

#include <thread>
#include <vector>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  std::vector<std::thread> threads;
  for (;;)
    threads.emplace_back([] {
      for (volatile int i = 0;; ++i) {
      }
    });
}
