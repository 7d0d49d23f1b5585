// task: gpu_product
// expect: FAIL_INCORRECT tolerance
// Every second term of the sums, doubled. Caught by: an error beyond the bound of f32.

__global__ void work(const float* a, const float* b, float* c, int n, int m, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= n || column >= m) return;
  float sum = 0;
  for (int i = 0; i < k; i += 2) sum += a[row * k + i] * b[i * m + column];
  c[row * m + column] = 2 * sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int n, int m, int k) {
  work<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n, m, k);
}
