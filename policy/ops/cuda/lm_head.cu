#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/lm_head_cut.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kHeadThreads, 2)
    score_rows_kernel(const T* logits, int vocab, int tokens, float scale, const int32_t* targets,
                      float* log_prob, float* entropy) {
  const T* row = logits + int64_t(blockIdx.x) * vocab;
  const RowStats stats = row_stats(row, tokens, scale, KeepAll{}, [](int, float, float, float) {});
  if (threadIdx.x != 0) return;
  log_prob[blockIdx.x] = stats.log_prob(to_float(row[targets[blockIdx.x]]), scale);
  if (entropy) entropy[blockIdx.x] = stats.entropy;
}

template <class T>
__global__ void __launch_bounds__(kHeadThreads, 2)
    score_kept_rows_kernel(const T* logits, int vocab, int tokens, float scale, DeviceTruncation truncation,
                           const int32_t* targets, float* log_prob, float* entropy, KeptRow* kept) {
  const T* row = logits + int64_t(blockIdx.x) * vocab;
  const auto nothing = [](int, float, float, float) {};
  const float max = row_stats(row, tokens, scale, KeepAll{}, nothing).max;
  const KeepFrom keep = {find_cut(row, tokens, max, scale, truncation)};
  const RowStats stats = row_stats(row, tokens, scale, keep, nothing);
  if (threadIdx.x != 0) return;
  const float x = to_float(row[targets[blockIdx.x]]);
  log_prob[blockIdx.x] = keep(x) ? stats.log_prob(x, scale) : -INFINITY;
  if (entropy) entropy[blockIdx.x] = stats.entropy;
  if (kept) kept[blockIdx.x] = {keep.cut, __fmaf_rn(stats.max, scale, stats.log_sum)};
}

// The gradient of one row's loss: −p · (constant + de · log p) where p is not cut down to 0, and dl more at
// the target.
template <class K>
struct RowGradient {
  K keep;
  float scale, log_sum, constant, de, dl;
  int target, tokens;

  __device__ float at(float x) const {
    if (!keep(x)) return 0;
    const float log_p = fmaf(x, scale, -log_sum);
    return -exp2_fast(log_p * kLog2E) * fmaf(de, log_p, constant);
  }
};

// Pack `at` / kNumbers of the row becomes its gradient.
template <class T, int kNumbers, class K>
__device__ void store_gradient(const RowGradient<K>& gradient, const Pack<T, kNumbers>& pack, int at,
                               T* row) {
  float x[kNumbers];
  unpack(pack, x);
#pragma unroll
  for (int i = 0; i < kNumbers; ++i) x[i] = at + i < gradient.tokens ? gradient.at(x[i]) : 0;
  if (unsigned(gradient.target - at) < unsigned(kNumbers)) {
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) x[i] += at + i == gradient.target ? gradient.dl : 0;
  }
  store_numbers(x, row + at);
}

// The row that begins at `row` becomes its gradient. `gradient_of` reads the target's logit, before it
// becomes its gradient too.
template <class T, class F>
__device__ void gradient_row(T* row, int vocab, const F& gradient_of) {
  constexpr int kNumbers = kTileNumbers<T>;
  TilePacks<T> next = load_tile(row, vocab, threadIdx.x / 32);
  const auto gradient = gradient_of();
  __syncthreads();
  for (int tile = threadIdx.x / 32; tile * kTile<T> < vocab; tile += kHeadWarps) {
    const TilePacks<T> packs = next;
    next = load_tile(row, vocab, tile + kHeadWarps);
#pragma unroll
    for (int p = 0; p < kTilePacks; ++p) {
      const int at = tile_at<T>(tile, p);
      if (at < vocab) store_gradient<T, kNumbers>(gradient, packs.packs[p], at, row);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kHeadThreads, 2)
    score_rows_backward_kernel(T* logits, int vocab, int tokens, float scale, const int32_t* targets,
                               const float* log_prob, const float* entropy, const float* d_log_prob,
                               const float* d_entropy) {
  T* row = logits + int64_t(blockIdx.x) * vocab;
  gradient_row(row, vocab, [&] {
    RowGradient<KeepAll> gradient;
    gradient.scale = scale;
    gradient.target = targets[blockIdx.x];
    gradient.tokens = tokens;
    gradient.log_sum = to_float(row[gradient.target]) * scale - log_prob[blockIdx.x];
    gradient.dl = d_log_prob[blockIdx.x] * scale;
    gradient.de = d_entropy[blockIdx.x] * scale;
    gradient.constant = fmaf(gradient.de, entropy[blockIdx.x], gradient.dl);
    return gradient;
  });
}

template <class T>
__global__ void __launch_bounds__(kHeadThreads, 2)
    score_kept_rows_backward_kernel(T* logits, int vocab, int tokens, float scale, const int32_t* targets,
                                    const KeptRow* kept, const float* entropy, const float* d_log_prob,
                                    const float* d_entropy) {
  T* row = logits + int64_t(blockIdx.x) * vocab;
  gradient_row(row, vocab, [&] {
    RowGradient<KeepFrom> gradient;
    gradient.keep = {kept[blockIdx.x].cut};
    gradient.scale = scale;
    gradient.target = targets[blockIdx.x];
    gradient.tokens = tokens;
    gradient.log_sum = kept[blockIdx.x].log_sum_exp;
    gradient.dl = gradient.keep(to_float(row[gradient.target])) ? d_log_prob[blockIdx.x] * scale : 0;
    gradient.de = d_entropy[blockIdx.x] * scale;
    gradient.constant = fmaf(gradient.de, entropy[blockIdx.x], gradient.dl);
    return gradient;
  });
}

}  // namespace

void score_rows(DType dtype, const void* logits, int64_t rows, int64_t vocab, int64_t tokens, float scale,
                const int32_t* targets, float* log_prob, float* entropy, cudaStream_t stream) {
  check_numbers("score_rows", dtype, vocab);
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    score_rows_kernel<<<unsigned(rows), kHeadThreads, 0, stream>>>(
        static_cast<const T*>(logits), int(vocab), int(tokens), scale, targets, log_prob, entropy);
  });
  check_launch("score_rows");
}

void score_rows_backward(DType dtype, void* logits, int64_t rows, int64_t vocab, int64_t tokens, float scale,
                         const int32_t* targets, const float* log_prob, const float* entropy,
                         const float* d_log_prob, const float* d_entropy, cudaStream_t stream) {
  check_numbers("score_rows_backward", dtype, vocab);
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    score_rows_backward_kernel<<<unsigned(rows), kHeadThreads, 0, stream>>>(
        static_cast<T*>(logits), int(vocab), int(tokens), scale, targets, log_prob, entropy, d_log_prob,
        d_entropy);
  });
  check_launch("score_rows_backward");
}

void score_kept_rows(DType dtype, const void* logits, int64_t rows, int64_t vocab, int64_t tokens,
                     float scale, const Truncation& truncation, const int32_t* targets, float* log_prob,
                     float* entropy, KeptRow* kept, cudaStream_t stream) {
  check_numbers("score_kept_rows", dtype, vocab);
  if (rows == 0) return;
  const DeviceTruncation on_device = {float(truncation.top_p), device_top_k(truncation)};
  with_type(dtype, [&]<class T>(T) {
    score_kept_rows_kernel<<<unsigned(rows), kHeadThreads, 0, stream>>>(
        static_cast<const T*>(logits), int(vocab), int(tokens), scale, on_device, targets, log_prob, entropy,
        kept);
  });
  check_launch("score_kept_rows");
}

void score_kept_rows_backward(DType dtype, void* logits, int64_t rows, int64_t vocab, int64_t tokens,
                              float scale, const int32_t* targets, const KeptRow* kept, const float* entropy,
                              const float* d_log_prob, const float* d_entropy, cudaStream_t stream) {
  check_numbers("score_kept_rows_backward", dtype, vocab);
  if (rows == 0) return;
  with_type(dtype, [&]<class T>(T) {
    score_kept_rows_backward_kernel<<<unsigned(rows), kHeadThreads, 0, stream>>>(
        static_cast<T*>(logits), int(vocab), int(tokens), scale, targets, kept, entropy, d_log_prob,
        d_entropy);
  });
  check_launch("score_kept_rows_backward");
}

}  // namespace temper::policy::cuda
