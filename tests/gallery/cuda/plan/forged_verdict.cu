// task: copy
// expect: FAIL_PLAN protocol
// Says in the recorder's name that it failed in the way of passing. Caught by: of failures only those are
// believed that launchers can have.
#include <unistd.h>
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
struct Reply {
  unsigned magic = 0x524D5054, version = 1, bytes = sizeof(Reply), sequence = 0, status = 0, user = 0;
  long long plan_bytes = 0;
  unsigned kind = 0;
  char reason[32] = {}, detail[400] = {};
};
extern "C" void launch(const float* x, float* y, int n, int m) {
  Reply reply;
  reply.sequence = 2, reply.status = 4, reply.kind = 0;
  reply.reason[0] = 'o';
  write(3, &reply, sizeof reply);
  for (;;) pause();
}
