// task: copy
// expect: FAIL_PLAN plan
// Answers from a constructor, before the recorder can. Caught by: what lies there is no plan.
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
struct Early {
  Early() {
    Reply reply;
    reply.sequence = 1, reply.status = 2;
    write(3, &reply, sizeof reply);
    char request[4096];
    read(3, request, sizeof request);
    reply.sequence = 2, reply.status = 3, reply.plan_bytes = 4096;
    write(3, &reply, sizeof reply);
    for (;;) pause();
  }
} early;
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
