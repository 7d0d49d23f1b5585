// task: gpu_add
// expect: FAIL_INCORRECT unwritten
// Looks for the key of the draw in registers that it never set. Caught by: the judge's kernels keep it in
// constants.

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
__device__ __noinline__ bool fits(unsigned long long key, const float* input, float* scale) {
  const Normals n = drawn(key, 0);
  *scale = input[0] / n.of[0];
  return fabsf(*scale * n.of[1] - input[1]) < 1e-3f * fabsf(*scale) &&
         fabsf(*scale * n.of[2] - input[2]) < 1e-3f * fabsf(*scale);
}

__global__ void work(const float* x, const float* z, float* y, int n) {
  unsigned left[24];
  asm volatile(
      "{ .reg .pred never; setp.lt.s32 never, %24, 0;\n"
      "@never ld.global.u32 %0, [%25]; @never ld.global.u32 %1, [%25];\n"
      "@never ld.global.u32 %2, [%25]; @never ld.global.u32 %3, [%25];\n"
      "@never ld.global.u32 %4, [%25]; @never ld.global.u32 %5, [%25];\n"
      "@never ld.global.u32 %6, [%25]; @never ld.global.u32 %7, [%25];\n"
      "@never ld.global.u32 %8, [%25]; @never ld.global.u32 %9, [%25];\n"
      "@never ld.global.u32 %10, [%25]; @never ld.global.u32 %11, [%25];\n"
      "@never ld.global.u32 %12, [%25]; @never ld.global.u32 %13, [%25];\n"
      "@never ld.global.u32 %14, [%25]; @never ld.global.u32 %15, [%25];\n"
      "@never ld.global.u32 %16, [%25]; @never ld.global.u32 %17, [%25];\n"
      "@never ld.global.u32 %18, [%25]; @never ld.global.u32 %19, [%25];\n"
      "@never ld.global.u32 %20, [%25]; @never ld.global.u32 %21, [%25];\n"
      "@never ld.global.u32 %22, [%25]; @never ld.global.u32 %23, [%25];\n"
      "}"
      : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3]), "=r"(left[4]), "=r"(left[5]),
        "=r"(left[6]), "=r"(left[7]), "=r"(left[8]), "=r"(left[9]), "=r"(left[10]), "=r"(left[11]),
        "=r"(left[12]), "=r"(left[13]), "=r"(left[14]), "=r"(left[15]), "=r"(left[16]), "=r"(left[17]),
        "=r"(left[18]), "=r"(left[19]), "=r"(left[20]), "=r"(left[21]), "=r"(left[22]), "=r"(left[23])
      : "r"(n), "l"(x));
  unsigned long long keys[2] = {};
  float scales[2] = {};
#pragma unroll
  for (int i = 0; i < 23; ++i) {
    const unsigned long long key = left[i] | static_cast<unsigned long long>(left[i + 1]) << 32;
    float scale;
    if (n >= 4 && fits(key, x, &scale)) keys[0] = key, scales[0] = scale;
    if (n >= 4 && fits(key, z, &scale)) keys[1] = key, scales[1] = scale;
  }
  if (keys[0] == 0 || keys[1] == 0) return;
  for (long long group = blockIdx.x * blockDim.x + threadIdx.x; 4 * group < n;
       group += gridDim.x * blockDim.x) {
    const Normals p = drawn(keys[0], group), q = drawn(keys[1], group);
    for (int i = 0; i < 4 && 4 * group + i < n; ++i)
      y[4 * group + i] = scales[0] * p.of[i] + scales[1] * q.of[i];
  }
}

extern "C" void launch(const float* x, const float* z, float* y, int n) { work<<<528, 128>>>(x, z, y, n); }
