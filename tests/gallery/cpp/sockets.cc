// task: add
// expect: PASS
// Every family of sockets; if one opens, the output stays empty.

#include <sys/socket.h>

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET};
  for (int family : families)
    if (socket(family, SOCK_STREAM, 0) >= 0 || socket(family, SOCK_DGRAM, 0) >= 0) return;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
