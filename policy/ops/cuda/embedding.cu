#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void __launch_bounds__(kThreads)
    embedding_kernel(const T* table, const int32_t* ids, int width, T* x) {
  const int at = int(blockIdx.y * kThreads + threadIdx.x) * 8;
  if (at >= width) return;
  store_pack(load_pack<8>(table + int64_t(ids[blockIdx.x]) * width + at),
             x + int64_t(blockIdx.x) * width + at);
}

// One block a token and 8 · kThreads columns.
template <class T>
__global__ void __launch_bounds__(kThreads)
    embedding_backward_kernel(const T* dx, const int32_t* order, const int32_t* ids, const int32_t* begins,
                              int width, float* d_table) {
  const int at = int(blockIdx.y * kThreads + threadIdx.x) * 8;
  if (at >= width) return;
  float sum[8] = {};
  add_rows(dx, width, at, order, begins[blockIdx.x], begins[blockIdx.x + 1], sum);
  float* row = d_table + int64_t(ids[blockIdx.x]) * width + at;
  float values[8];
  unpack(load_pack<8>(row), values);
#pragma unroll
  for (int c = 0; c < 8; ++c) values[c] += sum[c];
  store_numbers(values, row);
}

dim3 grid_of(int64_t rows, int64_t width) {
  return dim3(unsigned(rows), unsigned((width / 8 + kThreads - 1) / kThreads));
}

}  // namespace

void embedding(DType dtype, const void* table, const int32_t* ids, int64_t rows, int64_t width, void* x,
               cudaStream_t stream) {
  check_numbers("embedding", dtype, width);
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    embedding_kernel<<<grid_of(rows, width), kThreads, 0, stream>>>(static_cast<const T*>(table), ids,
                                                                    int(width), static_cast<T*>(x));
  });
  check_launch("embedding");
}

void embedding_backward(DType dtype, const void* dx, const int32_t* order, const int32_t* ids,
                        const int32_t* begins, int64_t count, int64_t width, float* d_table,
                        cudaStream_t stream) {
  check_numbers("embedding_backward", dtype, width);
  if (count == 0) return;
  with_type(dtype, [&]<class T>(T) {
    embedding_backward_kernel<<<grid_of(count, width), kThreads, 0, stream>>>(
        static_cast<const T*>(dx), order, ids, begins, int(width), d_table);
  });
  check_launch("embedding_backward");
}

}  // namespace temper::policy::cuda
