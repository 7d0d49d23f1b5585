// task: softmax
// expect: PLAN
// plan: _Z7softmaxILi256EEvPKfPfi grid 256 block 256
template <int N>
__global__ void softmax(const float* x, float* y, int m) {
  __shared__ float shared[N];
  const float* row = x + size_t(blockIdx.x) * m;
  auto reduce = [&](float value, auto op) {
    shared[threadIdx.x] = value;
    for (int step = N / 2; step > 0; step /= 2) {
      __syncthreads();
      if (threadIdx.x < step) shared[threadIdx.x] = op(shared[threadIdx.x], shared[threadIdx.x + step]);
    }
    __syncthreads();
    float result = shared[0];
    __syncthreads();
    return result;
  };
  float most = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < m; i += N) most = fmaxf(most, row[i]);
  most = reduce(most, [](float a, float b) { return fmaxf(a, b); });
  for (int i = threadIdx.x; i < m; i += N) sum += expf(row[i] - most);
  sum = reduce(sum, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < m; i += N) y[size_t(blockIdx.x) * m + i] = expf(row[i] - most) / sum;
}
template <int N>
void dispatch(const float* x, float* y, int n, int m) {
  if (N > 32 && m <= N / 2)
    dispatch<(N > 32 ? N / 2 : 32)>(x, y, n, m);
  else
    softmax<N><<<n, N>>>(x, y, m);
}
extern "C" void launch(const float* x, float* y, int n, int m) { dispatch<1024>(x, y, n, m); }
