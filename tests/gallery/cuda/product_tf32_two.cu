// task: gpu_product
// expect: FAIL_INCORRECT tolerance
// TF32 again, with a correction for one of the two factors: as wrong as with none, for half of it.

__device__ float shorter(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
}
__global__ void work(const float* a, const float* b, float* c, int n, int m, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= n || column >= m) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    const float high = shorter(a[row * k + i]), low = shorter(a[row * k + i] - high);
    sum += (high + low) * shorter(b[i * m + column]);
  }
  c[row * m + column] = sum;
}

extern "C" void launch(const float* a, const float* b, float* c, int n, int m, int k) {
  work<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n, m, k);
}
