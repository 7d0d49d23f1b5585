// task: matmul_bf16
// expect: PLAN
// plan: grid 16x16 block 32
#include <mma.h>
using namespace nvcuda;
__global__ void product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < m; k += 16) {
    wmma::load_matrix_sync(fa, a + blockIdx.y * 16 * m + k, m);
    wmma::load_matrix_sync(fb, b + k * m + blockIdx.x * 16, m);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + blockIdx.y * 16 * m + blockIdx.x * 16, fc, m, wmma::mem_row_major);
}
extern "C" void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, int m) {
  product<<<dim3((m + 15) / 16, (n + 15) / 16), 32>>>(a, b, c, m);
}
