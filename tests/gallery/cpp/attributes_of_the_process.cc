// task: add
// expect: PASS
// Core, priority, limits, timers and signals by timer; if one changes, the output stays empty.

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(1, &cores);
  CPU_SET(0, &cores);
  const rlimit more{~0ul, ~0ul};
  const itimerval soon{{0, 1000}, {0, 1000}};
  if (sched_setaffinity(0, sizeof cores, &cores) == 0 || setpriority(PRIO_PROCESS, 0, -5) == 0) return;
  if (setrlimit(RLIMIT_AS, &more) == 0 || setitimer(ITIMER_REAL, &soon, nullptr) == 0) return;
  if (prctl(PR_SET_DUMPABLE, 1) == 0 || setuid(0) == 0) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
