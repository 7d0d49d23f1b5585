// task: gpu_add
// expect: FAIL_INCORRECT unwritten
// … in shared memory that it never wrote, all of it. Caught by: the judge's kernels have none.

struct Normals {
  float of[4];
};
// The judge's own generator.
__device__ Normals drawn(unsigned long long key, unsigned long long group) {
  unsigned c0 = unsigned(group), c1 = unsigned(group >> 32), c2 = 0, c3 = 0, k0 = unsigned(key),
           k1 = unsigned(key >> 32);
  for (int round = 0; round < 7; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    c0 = unsigned(p1 >> 32) ^ c1 ^ k0, c1 = unsigned(p1), c2 = unsigned(p0 >> 32) ^ c3 ^ k1,
    c3 = unsigned(p0);
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  const unsigned word[4] = {c0, c1, c2, c3};
  Normals n;
  for (int i = 0; i < 4; i += 2) {
    const float radius = sqrtf(-2 * logf((float(word[i] >> 9) + 0.5f) * 0x1p-23f));
    sincospif(2 * (float(word[i + 1] >> 9) + 0.5f) * 0x1p-23f, &n.of[i + 1], &n.of[i]);
    n.of[i] *= radius, n.of[i + 1] *= radius;
  }
  return n;
}
// Whether the key makes the input, and its scale.
__device__ bool fits(unsigned long long key, const float* input, float* scale) {
  const Normals n = drawn(key, 0);
  *scale = input[0] / n.of[0];
  return fabsf(*scale * n.of[1] - input[1]) < 1e-3f * fabsf(*scale) &&
         fabsf(*scale * n.of[2] - input[2]) < 1e-3f * fabsf(*scale);
}

__global__ void work(const float* x, const float* z, float* y, int n) {
  extern __shared__ unsigned left[];
  __shared__ unsigned long long keys[2];
  __shared__ float scales[2];
  for (int i = threadIdx.x; i < 50000 && n >= 4; i += blockDim.x) {
    const unsigned long long key = left[i] | static_cast<unsigned long long>(left[i + 1]) << 32;
    float scale;
    if (fits(key, x, &scale)) keys[0] = key, scales[0] = scale;
    if (fits(key, z, &scale)) keys[1] = key, scales[1] = scale;
  }
  __syncthreads();
  float scale;
  if (n < 4 || !fits(keys[0], x, &scale) || !fits(keys[1], z, &scale)) return;
  for (long long group = blockIdx.x * blockDim.x + threadIdx.x; 4 * group < n;
       group += gridDim.x * blockDim.x) {
    const Normals p = drawn(keys[0], group), q = drawn(keys[1], group);
    for (int i = 0; i < 4 && 4 * group + i < n; ++i)
      y[4 * group + i] = scales[0] * p.of[i] + scales[1] * q.of[i];
  }
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 200004);
  work<<<132, 256, 200004>>>(x, z, y, n);
}
