#pragma once
// The CUDA twins of the ops beside it: raw device pointers and a stream, no torch. Numbers are f32 or bf16 by
// `dtype`, computed with in f32; sums are f32.
//
// Async:  each call enqueues on `stream` and returns; all may be captured into a graph.
// Exact:  a row's bits depend on that row alone, neither on the number of rows nor on its position among them.
//         No atomics are used: the same call gives the same bits.
// Errors: WorldError with CUDA's text if the launch fails. Widths are multiples of 8.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "policy/model_config.h"
#include "policy/ops/attention_shape.h"
#include "policy/ops/cuda/layout.h"
#include "policy/ops/truncation.h"

namespace temper::policy::cuda {

void check(cudaError_t error, const char* what);
void require(bool right, const char* what);  // TEMPER_CHECK for nvcc, which cannot read fmt's headers

// cpu::rms_norm of rows `index` of x, or of all rows in order if `index` is null.
// Shapes: x [·, width] · index [rows] or null · w [width] · y [rows, width]
void rms_norm(DType dtype, const void* x, const int32_t* index, const void* w, double eps, int64_t rows,
              int64_t width, void* y, cudaStream_t stream);

// Adds the gradient of rms_norm's input to rows `index` of dx, and writes the gradient of its weight as partial
// sums over rows.
// Shapes: dy [rows, width] · x, dx [·, width] · dw_blocks [kNormBlocks, width] f32
void rms_norm_backward(DType dtype, const void* dy, const void* x, const int32_t* index, const void* w,
                       double eps, int64_t rows, int64_t width, void* dx, float* dw_blocks,
                       cudaStream_t stream);

// dw [width] += Σ of `blocks` rows of dw_blocks [blocks, stride], in an order that depends on `blocks` alone; without `add`
// dw becomes that.
void add_blocks(const float* dw_blocks, int64_t blocks, int64_t stride, int64_t width, bool add, float* dw,
                cudaStream_t stream);

// cpu::swiglu. Shapes: gate_up [rows, 2·width], gate first · y [rows, width]
void swiglu(DType dtype, const void* gate_up, int64_t rows, int64_t width, void* y, cudaStream_t stream);

// gate_up becomes its gradient; y [rows, width] is swiglu's output again, for the weights' gradient.
void swiglu_backward(DType dtype, const void* d_y, void* gate_up, int64_t rows, int64_t width, void* y,
                     cudaStream_t stream);

// x[r] = table[ids[r]]. Shapes: table [V, width] · x [rows, width]
void embedding(DType dtype, const void* table, const int32_t* ids, int64_t rows, int64_t width, void* x,
               cudaStream_t stream);

// d_table[ids[i]] += Σ dx[order[k]] for k in [begins[i], begins[i+1]), in that order; ids are distinct.
// Shapes: dx [·, width] · order [begins[count]] · ids [count] · begins [count + 1] · d_table [V, width] f32
void embedding_backward(DType dtype, const void* dx, const int32_t* order, const int32_t* ids,
                        const int32_t* begins, int64_t count, int64_t width, float* d_table,
                        cudaStream_t stream);

// Keys and values of one layer, in pages of kPageTokens tokens: page p of key head k holds
// [kPageTokens, hd] keys, then as many values, both bf16, at base + ((p · K + k) · 2 + is_value) ·
// kPageTokens · hd. Within a row of hd numbers, the chunk c of 8 numbers of token t lies at chunk c ^ (t %
// 8): one bulk copy brings a page ready for ldmatrix without bank conflicts.
constexpr int64_t kPageTokens = 128;
struct Pages {
  void* base = nullptr;
  const int32_t* table = nullptr;  // [·, max_pages] page numbers, one row per sequence
  const int32_t* row = nullptr;    // [rows] row of the table for each row; if null, row r has row r
  int64_t max_pages = 0;
};

// cos and sin of position · frequencies[i] (rope_frequencies), computed in f64: [positions, 2, hd/2], on the
// host.
void fill_rope_table(int64_t positions, const std::vector<double>& frequencies, float* table);

// cpu::qk_norm_rope, weights null too; with `pages.base` it also puts keys and values in place as tokens
// `positions` of their sequences (bf16, attention heads only).
// Shapes: qkv [rows, (H+2K)·hd] · positions [rows] · qk [rows, (H+K)·hd]
void qk_norm_rope(DType dtype, const AttentionShape& shape, const void* q_weight, const void* k_weight,
                  double eps, const float* table, const void* qkv, const int32_t* positions, int64_t rows,
                  const Pages& pages, void* qk, cudaStream_t stream);

// In place: d_qkv holds the gradient of qk in its query and key columns and leaves with that of qkv; value
// columns stay. dw_blocks [kNormBlocks, 2·hd]: q_weight's, then k_weight's; zeros where they are null.
void qk_norm_rope_backward(DType dtype, const AttentionShape& shape, const void* q_weight,
                           const void* k_weight, double eps, const float* table, const void* qkv,
                           const int32_t* positions, int64_t rows, void* d_qkv, float* dw_blocks,
                           cudaStream_t stream);

// cpu::score_rows. The first `tokens` of a row's logits have a token. Shapes: logits [rows, V] · targets,
// log_prob, entropy [rows]; entropy may be null.
void score_rows(DType dtype, const void* logits, int64_t rows, int64_t vocab, int64_t tokens, float scale,
                const int32_t* targets, float* log_prob, float* entropy, cudaStream_t stream);

// cpu::score_rows_backward: logits become dLoss/dlogits. All but logits [rows] f32.
void score_rows_backward(DType dtype, void* logits, int64_t rows, int64_t vocab, int64_t tokens, float scale,
                         const int32_t* targets, const float* log_prob, const float* entropy,
                         const float* d_log_prob, const float* d_entropy, cudaStream_t stream);

// cpu::score_kept_rows. Shapes: as score_rows' · kept [rows]; entropy and kept may be null.
void score_kept_rows(DType dtype, const void* logits, int64_t rows, int64_t vocab, int64_t tokens,
                     float scale, const Truncation& truncation, const int32_t* targets, float* log_prob,
                     float* entropy, KeptRow* kept, cudaStream_t stream);

// cpu::score_kept_rows_backward: logits become dLoss/dlogits.
void score_kept_rows_backward(DType dtype, void* logits, int64_t rows, int64_t vocab, int64_t tokens,
                              float scale, const int32_t* targets, const KeptRow* kept, const float* entropy,
                              const float* d_log_prob, const float* d_entropy, cudaStream_t stream);

// Truncation::top_k in the form that kernels take: 0 for no limit, and at most 2^30, which no row reaches.
inline int32_t device_top_k(const Truncation& truncation) {
  return int32_t(truncation.top_k < 1 ? 0 : truncation.top_k < (1 << 30) ? truncation.top_k : 1 << 30);
}

// One draw from a row of logits, as sample_token's.
struct Draw {
  int32_t row;     // row of the logits
  int32_t greedy;  // 1: the largest logit, the first of equals
  float scale;     // 1 / temperature; 1 where greedy
  float u;         // uniform in [0, 1)
  float top_p = 1;
  int32_t top_k = 0;  // device_top_k's
};
// The first id where the running sum over ids that truncation keeps passes u of the whole. log_prob has the
// bits that score_rows, or score_kept_rows at that truncation, gives that id at that scale. Shapes: draws,
// ids, log_prob [count], on the device
void sample_rows(DType dtype, const void* logits, int64_t vocab, int64_t tokens, const Draw* draws,
                 int64_t count, int32_t* ids, float* log_prob, cudaStream_t stream);

// Σ x² as f64 into *sum, in an order that depends on `size` alone. scratch [kSumBlocks].
constexpr int64_t kSumBlocks = 1024;
void squared_norm(const float* x, int64_t size, double* scratch, double* sum, cudaStream_t stream);

// The factors of one AdamW update, see policy/ops/adamw.h. rest1 and rest2 are 1 − beta1 and 1 − beta2,
// rounded once: 1 − beta2 of a rounded beta2 would be off by eps / (1 − beta2).
struct AdamWFactors {
  float gradient_scale, keep, beta1, rest1, beta2, rest2, step, root_correction, epsilon;
};
// Moves master and moments; weights are master rounded to `dtype`; gradients end as zeros. All [size].
void adamw(DType dtype, float* master, void* weights, float* gradients, float* moment1, float* moment2,
           int64_t size, const AdamWFactors& factors, cudaStream_t stream);

// values[i] = std · normal number i of Rng(key), rounded to `dtype`.
void fill_normal(DType dtype, void* values, int64_t size, uint64_t key, double std, cudaStream_t stream);

}  // namespace temper::policy::cuda
