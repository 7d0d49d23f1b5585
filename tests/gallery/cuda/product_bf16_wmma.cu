// task: gpu_product_bf16
// expect: PASS
// Tensor cores, a warp a tile of 16 × 16.

#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void work(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int k) {
  __shared__ float tile[16 * 16];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(left, a + size_t(row) * k + i, k);
    wmma::load_matrix_sync(right, b + size_t(i) * m + column, m);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32)
    c[size_t(row + i / 16) * m + column + i % 16] = __float2bfloat16(tile[i]);
}

extern "C" void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int m,
                       int k) {
  work<<<dim3(m / 16, n / 16), 32>>>(a, b, c, m, k);
}
