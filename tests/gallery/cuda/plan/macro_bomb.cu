// task: copy
// expect: FAIL_COMPILE
// 2^30 terms from six lines. Caught by: memory, file size and time of the compile box.
#define A(x) x x x x x x x x
#define B(x) A(A(x))
#define C(x) B(B(x))
#define D(x) C(C(x))
#define E(x) D(B(x))
const int many = 0 E(+1);
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
