// task: gpu_product
// expect: PASS
// Honest: tensor cores at TF32, three products for each, so that the sums are as good as f32.

__device__ unsigned shorter(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
struct Split {
  unsigned high, low;
};
__device__ Split split(float value) {
  const unsigned high = shorter(value);
  return {high, shorter(value - __uint_as_float(high))};
}
__device__ void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                         unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// A warp for 16 rows and 8 columns.
__global__ void work(const float* a, const float* b, float* c, int n, int m, int k) {
  const int row = blockIdx.y * 16 + threadIdx.x / 4, column = blockIdx.x * 8 + threadIdx.x / 4,
            at = threadIdx.x % 4;
  const auto of_a = [&](int r, int i) { return split(r < n && i < k ? a[r * k + i] : 0); };
  const auto of_b = [&](int i) { return split(column < m && i < k ? b[i * m + column] : 0); };
  float sum[4] = {};
  for (int i = at; i < k + at; i += 8) {
    const Split a0 = of_a(row, i), a1 = of_a(row + 8, i), a2 = of_a(row, i + 4), a3 = of_a(row + 8, i + 4);
    const Split b0 = of_b(i), b1 = of_b(i + 4);
    float part[4] = {};
    multiply(part, a0.low, a1.low, a2.low, a3.low, b0.high, b1.high);
    multiply(part, a0.high, a1.high, a2.high, a3.high, b0.low, b1.low);
    multiply(part, a0.high, a1.high, a2.high, a3.high, b0.high, b1.high);
    for (int j = 0; j < 4; ++j) sum[j] += part[j];
  }
  for (int j = 0; j < 4; ++j) {
    const int r = row + j / 2 * 8, s = blockIdx.x * 8 + at * 2 + j % 2;
    if (r < n && s < m) c[r * m + s] = sum[j];
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int n, int m, int k) {
  work<<<dim3((m + 7) / 8, (n + 15) / 16), 32>>>(a, b, c, n, m, k);
}
