// task: copy
// expect: FAIL_PLAN plan
// Says in the recorder's name that there is a plan. Caught by: what lies there is none.
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
  reply.sequence = 2, reply.status = 3, reply.plan_bytes = 64;
  write(3, &reply, sizeof reply);
  for (;;) pause();
}
