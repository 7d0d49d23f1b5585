#include "policy/ops/cuda/attention/paged_attention.h"
#include "policy/ops/cuda/attention/paged_attention_tile.cuh"

namespace temper::policy::cuda {
namespace {

template <int kHeadDim>
constexpr int kChunks = kHeadDim / 8;

// One block a token, one thread a chunk of 8 numbers of a key or a value.
template <int kHeadDim>
__global__ void write_pages_kernel(int heads, int kv_heads, const Number* qk, const Number* qkv,
                                   const int32_t* positions, Pages pages) {
  const int64_t row = blockIdx.x;
  const int position = positions[row];
  if (position < 0) return;
  const int64_t sequence = pages.row ? pages.row[row] : row;
  const int64_t page = pages.table[sequence * pages.max_pages + position / kPageTokens];
  const int token = position % int(kPageTokens), chunk = int(threadIdx.x) % kChunks<kHeadDim>,
            is_value = int(threadIdx.x) / kChunks<kHeadDim>;
  for (int head = 0; head < kv_heads; ++head) {
    const Number* from = is_value ? qkv + (row * (heads + 2 * kv_heads) + heads + kv_heads + head) * kHeadDim
                                  : qk + (row * (heads + kv_heads) + heads + head) * kHeadDim;
    Number* to = static_cast<Number*>(pages.base) +
                 ((page * kv_heads + head) * 2 + is_value) * HeadSizes<kHeadDim>::kMatrix + token * kHeadDim +
                 (chunk ^ token % 8) * 8;
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from + chunk * 8);
  }
}

}  // namespace

void write_pages(const AttentionShape& shape, const void* qk, const void* qkv, const int32_t* positions,
                 int64_t rows, const Pages& pages, cudaStream_t stream) {
  if (rows == 0) return;
  with_attention_head(shape.head_dim, [&]<int kHeadDim>() {
    write_pages_kernel<kHeadDim><<<unsigned(rows), 2 * kChunks<kHeadDim>, 0, stream>>>(
        int(shape.heads), int(shape.kv_heads), static_cast<const Number*>(qk),
        static_cast<const Number*>(qkv), positions, pages);
  });
  check(cudaGetLastError(), "write_pages");
}

}  // namespace temper::policy::cuda
