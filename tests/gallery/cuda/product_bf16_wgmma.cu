// task: gpu_product_bf16
// expect: PASS
// Tensor cores of a whole warpgroup (wgmma), both operands in shared memory.

#include <cuda_bf16.h>

#include <cstdint>

constexpr int kRows = 64, kColumns = 32, kDepth = 64;

// Element (i, k) of an operand: core matrices of 8 × 8 elements, one after another along k, then along i.
__device__ int place(int i, int k) { return (i / 8 * (kDepth / 8) + k / 8) * 64 + i % 8 * 8 + k % 8; }

// Without swizzle; 128 bytes from a core matrix to the next along k, kDepth / 8 times that along i.
__device__ uint64_t descriptor(const __nv_bfloat16* tile) {
  const uint64_t address = __cvta_generic_to_shared(tile) >> 4;
  return (address & 0x3FFF) | uint64_t(128 >> 4) << 16 | uint64_t(16 * kDepth >> 4) << 32;
}

__global__ void __launch_bounds__(128)
    work(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int m, int k) {
  __shared__ __align__(128) __nv_bfloat16 left[kRows * kDepth], right[kColumns * kDepth];
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns, thread = threadIdx.x;
  float d[16] = {};
  for (int begin = 0; begin < k; begin += kDepth) {
    for (int i = thread; i < kRows * kDepth; i += 128)
      left[place(i / kDepth, i % kDepth)] =
          row + i / kDepth < n ? a[size_t(row + i / kDepth) * k + begin + i % kDepth] : __float2bfloat16(0);
    for (int i = thread; i < kColumns * kDepth; i += 128)
      right[place(i % kColumns, i / kColumns)] = b[size_t(begin + i / kColumns) * m + column + i % kColumns];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int step = 0; step < kDepth; step += 16) {
      const uint64_t x = descriptor(left + place(0, step)), y = descriptor(right + place(0, step));
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
          "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, 1, 1, 1, 0, 0;"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
            "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
            "+f"(d[15])
          : "l"(x), "l"(y));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  for (int i = 0; i < 16; ++i) {
    const int r = row + thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8;
    if (r < n) c[size_t(r) * m + column + i / 4 * 8 + thread % 4 * 2 + i % 2] = __float2bfloat16(d[i]);
  }
}

extern "C" void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int m,
                       int k) {
  work<<<dim3(m / kColumns, (n + kRows - 1) / kRows), 128>>>(a, b, c, n, m, k);
}
