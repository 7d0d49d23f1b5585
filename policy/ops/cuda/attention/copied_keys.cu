#include "policy/ops/cuda/attention/copied_keys.h"

#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/device/numbers.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

using Value = __nv_bfloat16;

constexpr int kCopyThreads = 128;

// Columns of a row: `queries` numbers of queries, then as many of keys and of values.
struct Columns {
  explicit Columns(const AttentionShape& s) : queries(int(s.q_width())), keys(int(s.kv_heads * s.head_dim)) {}
  int queries, keys;
};

// One block a copy and 8 · kCopyThreads columns.
__global__ void __launch_bounds__(kCopyThreads)
    copy_keys_kernel(Columns columns, const Value* qk, const Value* qkv, const int32_t* rows, Value* keys) {
  const int at = int(blockIdx.y * kCopyThreads + threadIdx.x) * 8, width = columns.keys;
  if (at >= 2 * width) return;
  const int64_t row = rows[blockIdx.x];
  const Value* from =
      at < width ? qk + row * (columns.queries + width) : qkv + row * (columns.queries + 2 * width);
  store_pack(load_pack<8>(from + columns.queries + at), keys + int64_t(blockIdx.x) * 2 * width + at);
}

// One block a token and 8 · kCopyThreads columns.
__global__ void __launch_bounds__(kCopyThreads)
    add_key_gradients_kernel(Columns columns, const Value* d_keys, const int32_t* copies,
                             const int32_t* begins, Value* d_qkv) {
  const int at = int(blockIdx.y * kCopyThreads + threadIdx.x) * 8, width = 2 * columns.keys;
  if (at >= width) return;
  float sum[8] = {};
  add_rows(d_keys, width, at, copies, begins[blockIdx.x], begins[blockIdx.x + 1], sum);
  store_numbers(sum, d_qkv + int64_t(blockIdx.x) * (columns.queries + width) + columns.queries + at);
}

dim3 copy_grid(int64_t rows, const Columns& columns) {
  return dim3(unsigned(rows), unsigned((2 * columns.keys / 8 + kCopyThreads - 1) / kCopyThreads));
}

}  // namespace

void copy_keys(const AttentionShape& shape, const void* qk, const void* qkv, const int32_t* rows,
               int64_t count, void* keys, cudaStream_t stream) {
  check_numbers("copy_keys", DType::kBF16, shape.head_dim);
  if (count == 0) return;
  const Columns columns(shape);
  copy_keys_kernel<<<copy_grid(count, columns), kCopyThreads, 0, stream>>>(
      columns, static_cast<const Value*>(qk), static_cast<const Value*>(qkv), rows,
      static_cast<Value*>(keys));
  check_launch("copy_keys");
}

void add_key_gradients(const AttentionShape& shape, const void* d_keys, const int32_t* copies,
                       const int32_t* begins, int64_t tokens, void* d_qkv, cudaStream_t stream) {
  check_numbers("add_key_gradients", DType::kBF16, shape.head_dim);
  if (tokens == 0) return;
  const Columns columns(shape);
  add_key_gradients_kernel<<<copy_grid(tokens, columns), kCopyThreads, 0, stream>>>(
      columns, static_cast<const Value*>(d_keys), copies, begins, static_cast<Value*>(d_qkv));
  check_launch("add_key_gradients");
}

}  // namespace temper::policy::cuda
