#include <cuda_bf16.h>

#include "policy/ops/paged_attention.h"

namespace temper::cuda {
namespace {

using Number = __nv_bfloat16;

constexpr int kHeadDim = 128;
constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMaxGroup = 8;                     // query heads of a key head
constexpr int kMatrix = kPageTokens * kHeadDim;  // numbers of a page's keys, and of its values
constexpr uint32_t kRowBytes = kHeadDim * sizeof(Number);
constexpr uint32_t kMatrixBytes = kMatrix * sizeof(Number), kPageBytes = 2 * kMatrixBytes;
constexpr int kStages = 3;  // pages in shared memory at once
constexpr float kScale = 0.08838834764831845f, kLog2e = 1.4426950408889634f;

// More rows than a decoding step has are those of longer pieces of sequences: a tile then takes rows that
// follow each other together.
constexpr int64_t kDecodingRows = 512;

// Padded by 8 numbers a row: the rows that ldmatrix reads together lie in different banks.
constexpr int kWeightStride = kPageTokens + 8, kSumStride = kPageTokens + 4;

// A tensor core's tile has 16 rows, kHalves · 8 of them in use.
template <int kHalves>
struct Shared {
  alignas(128) unsigned char pages[kStages][kPageBytes];
  alignas(16) Number p[kHalves * 8][kWeightStride];  // as P·V takes them
  float p32[kHalves * 8][kSumStride];                // as they are added up
  float warp_max[kWarps][kHalves * 8];
  float inverse_sum[kHalves * 8];
  alignas(8) uint64_t arrived[kStages];
};

__device__ uint32_t address(const void* shared) { return uint32_t(__cvta_generic_to_shared(shared)); }

__device__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The exponent's argument, each product rounded.
__device__ float scaled(float score) { return __fmul_rn(__fmul_rn(score, kScale), kLog2e); }

// c += a · b, 16 × 8 × 16; with two registers of a, its rows 8 … 15 are zero.
__device__ void multiply_add(float (&c)[4], const uint32_t (&a)[2], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %6, %5, %6}, {%7, %8}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(0), "r"(b0), "r"(b1));
}

__device__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void load_matrices(uint32_t (&r)[2], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
}

__device__ void load_matrices(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at));
}

__device__ void load_matrices_transposed(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at));
}

__device__ void init_barrier(uint32_t barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

__device__ void expect_bytes(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ void copy_in(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// Brings the pages of one key head of one sequence into shared memory, some ahead of their use. One thread's.
template <class Memory>
class Loader {
 public:
  __device__ Loader(Memory& shared, const Pages& pages, int kv_heads, int kv_head)
      : shared_(shared),
        base_(static_cast<const Number*>(pages.base) + int64_t(kv_head) * 2 * kMatrix),
        page_stride_(int64_t(kv_heads) * 2 * kMatrix) {}

  __device__ void begin(const int32_t* table, int keys) {
    table_ = table;
    keys_ = keys;
    page_ = table[0];
    for (int i = 0; i < kStages - 1; ++i) next();
  }

  __device__ void next() {
    if (keys_ <= 0) return;
    const int stage = loaded_++ % kStages;
    const uint32_t barrier = address(&shared_.arrived[stage]), to = address(shared_.pages[stage]);
    const Number* from = base_ + page_ * page_stride_;
    if (keys_ >= kPageTokens) {
      expect_bytes(barrier, kPageBytes);
      copy_in(to, from, kPageBytes, barrier);
    } else {
      const uint32_t bytes = uint32_t(keys_) * kRowBytes;
      expect_bytes(barrier, 2 * bytes);
      copy_in(to, from, bytes, barrier);
      copy_in(to + kMatrixBytes, from + kMatrix, bytes, barrier);
    }
    keys_ -= int(kPageTokens);
    if (keys_ > 0) page_ = *++table_;  // long before it is needed
  }

 private:
  Memory& shared_;
  const Number* base_;
  int64_t page_stride_, page_ = 0;
  const int32_t* table_ = nullptr;
  int keys_ = 0, loaded_ = 0;  // keys_: still to be brought
};

// What lies behind the last token may be anything, and zero times infinity is not zero.
__device__ void clear_values(unsigned char* page, int from_token) {
  uint4* values = reinterpret_cast<uint4*>(page + kMatrixBytes);
  for (int i = from_token * 16 + int(threadIdx.x); i < int(kPageTokens) * 16; i += kThreads)
    values[i] = make_uint4(0, 0, 0, 0);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // a later copy may come here
}

// Where a thread is in its warp's tiles: lane 4g + t holds columns 2t and 2t + 1 of rows g and g + 8. Of a
// page, each warp takes 16 keys for Q·Kᵀ and 16 columns for P·V.
struct Lane {
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
};

struct Tiles {
  float of[2][4];  // two tiles of 8 columns; elements 0 and 1 of row g, 2 and 3 of row g + 8
};

template <int kHalves>
__device__ Tiles scores(const uint32_t (&q)[kHeadDim / 16][2 * kHalves], uint32_t keys, const Lane& at) {
  Tiles s = {};
  const int matrix = at.lane / 8, key = 16 * at.warp + matrix / 2 * 8 + at.lane % 8;
  const uint32_t row = keys + uint32_t(key) * kRowBytes;
#pragma unroll
  for (int step = 0; step < kHeadDim / 16; ++step) {
    uint32_t k[4];
    load_matrices(k, row + uint32_t(((step * 2 + matrix % 2) ^ (key % 8)) * 16));
    multiply_add(s.of[0], q[step], k[0], k[1]);
    multiply_add(s.of[1], q[step], k[2], k[3]);
  }
  return s;
}

// out += p · values
template <int kHalves>
__device__ void add_values(Tiles& out, uint32_t p, uint32_t values, const Lane& at) {
  const int matrix = at.lane / 8;
  // The four parts of a: rows g then g + 8 where both are in use, columns 0 … 7 then 8 … 15.
  const int p_row = at.lane % 8 + matrix % kHalves * 8, p_half = matrix / kHalves % 2;
#pragma unroll
  for (int step = 0; step < int(kPageTokens) / 16; ++step) {
    uint32_t a[2 * kHalves], v[4];
    load_matrices(a, p + uint32_t(p_row * kWeightStride + step * 16 + p_half * 8) * sizeof(Number));
    const int key = step * 16 + matrix % 2 * 8 + at.lane % 8;
    load_matrices_transposed(
        v, values + uint32_t(key) * kRowBytes + uint32_t(((2 * at.warp + matrix / 2) ^ (key % 8)) * 16));
    multiply_add(out.of[0], a, v[0], v[1]);
    multiply_add(out.of[1], a, v[2], v[3]);
  }
}

// A lane's share of a row's sum: its columns in rising order.
__device__ float lane_sum(const float* p, int t) {
  float sum = 0;
#pragma unroll
  for (int tile = 0; tile < int(kPageTokens) / 8; ++tile) {
    const float2 v = *reinterpret_cast<const float2*>(p + tile * 8 + 2 * t);
    sum = __fadd_rn(__fadd_rn(sum, v.x), v.y);
  }
  return sum;
}

// The query heads of one key head, for some rows of one sequence that follow each other: row i of the tile is
// query head i % group of row i / group.
template <int kHalves>
struct Block {
  Shared<kHalves>& shared;
  const Lane at{};
  int pages_used = 0;

  // q, out: of the first row and query head, from row to row q_stride and out_stride; positions: of the rows.
  __device__ void attend(Loader<Shared<kHalves>>& loader, const int32_t* table, const int32_t* positions,
                         int rows, int group, const Number* q_rows, int64_t q_stride, Number* out_rows,
                         int64_t out_stride) {
    uint32_t q[kHeadDim / 16][2 * kHalves];
    int keys_of[kHalves], keys = 0;
    const Number* q_of[kHalves];
    for (int r = 0; r < rows; ++r) keys = max(keys, positions[r] + 1);
    for (int h = 0; h < kHalves; ++h) {
      const int i = at.g + 8 * h, row = i / group;
      keys_of[h] = row < rows ? positions[row] + 1 : 0;
      q_of[h] = row < rows ? q_rows + row * q_stride + i % group * kHeadDim : nullptr;
    }
    if (threadIdx.x == 0 && keys > 0) loader.begin(table, keys);
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step)
      for (int part = 0; part < 2; ++part)
        for (int h = 0; h < kHalves; ++h)
          q[step][part * kHalves + h] =
              q_of[h] ? *reinterpret_cast<const uint32_t*>(q_of[h] + step * 16 + part * 8 + at.t * 2) : 0;

    __syncthreads();

    float maximum[kHalves], sum = 0;  // sum: a lane's share, of row g + 8h in warp kWarps - 1 - h
    for (float& m : maximum) m = -INFINITY;
    Tiles acc = {};
    for (int first_key = 0; first_key < keys; first_key += int(kPageTokens), ++pages_used) {
      unsigned char* const page = shared.pages[pages_used % kStages];
      wait(address(&shared.arrived[pages_used % kStages]), uint32_t(pages_used / kStages % 2));
      if (keys - first_key < kPageTokens) clear_values(page, keys - first_key);
      Tiles s = scores<kHalves>(q, address(page), at);
      mask(s, keys_of, first_key);
      __syncthreads();
      if (threadIdx.x == 0) loader.next();  // into the page that all have left

      float decay[kHalves];
      weigh(s, keys_of, first_key == 0, maximum, decay);
      __syncthreads();
      for (int h = 0; h < kHalves; ++h) {
        if (at.warp == kWarps - 1 - h && keys_of[h] > 0)
          sum = __fmaf_rn(sum, decay[h], lane_sum(shared.p32[at.g + 8 * h], at.t));
        for (auto& tile : acc.of)
          for (int e = 0; e < 2; ++e) tile[2 * h + e] = __fmul_rn(tile[2 * h + e], decay[h]);
      }
      add_values<kHalves>(acc, address(shared.p), address(page) + kMatrixBytes, at);
    }
    if (at.warp >= kWarps - kHalves) {
      sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, 2));
      if (at.t == 0) shared.inverse_sum[at.g + 8 * (kWarps - 1 - at.warp)] = reciprocal_approx(sum);
    }
    __syncthreads();
    for (int h = 0; h < kHalves; ++h) {
      const int i = at.g + 8 * h, row = i / group;
      if (row >= rows) continue;
      const float inverse = shared.inverse_sum[i];
      Number* const out = out_rows + row * out_stride + i % group * kHeadDim + 16 * at.warp + 2 * at.t;
      for (int tile = 0; tile < 2; ++tile) {
        float2 y =
            make_float2(__fmul_rn(acc.of[tile][2 * h], inverse), __fmul_rn(acc.of[tile][2 * h + 1], inverse));
        if (keys_of[h] <= 0) y = make_float2(0, 0);
        *reinterpret_cast<__nv_bfloat162*>(out + 8 * tile) = __floats2bfloat162_rn(y.x, y.y);
      }
    }
  }

  // Hides keys behind a row's position, and notes this warp's largest score of each row.
  __device__ void mask(Tiles& s, const int (&keys_of)[kHalves], int first_key) {
    for (int h = 0; h < kHalves; ++h) {
      float most = -INFINITY;
      for (int tile = 0; tile < 2; ++tile)
        for (int e = 0; e < 2; ++e) {
          float& score = s.of[tile][2 * h + e];
          if (first_key + 16 * at.warp + 8 * tile + 2 * at.t + e >= keys_of[h]) score = -INFINITY;
          most = fmaxf(most, score);
        }
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      if (at.t == 0) shared.warp_max[at.warp][at.g + 8 * h] = most;
    }
  }

  // Scores become weights against the running maximum; decay: what those of earlier pages are worth now.
  __device__ void weigh(const Tiles& s, const int (&keys_of)[kHalves], bool first, float (&maximum)[kHalves],
                        float (&decay)[kHalves]) {
    for (int h = 0; h < kHalves; ++h) {
      const int row = at.g + 8 * h;
      const float before = maximum[h];
      for (int warp = 0; warp < kWarps; ++warp) maximum[h] = fmaxf(maximum[h], shared.warp_max[warp][row]);
      const float shift = scaled(maximum[h]);
      decay[h] = first || keys_of[h] <= 0 ? 0 : exp2_approx(__fsub_rn(scaled(before), shift));
      if (keys_of[h] <= 0) continue;
      for (int tile = 0; tile < 2; ++tile) {
        const float p0 = exp2_approx(__fsub_rn(scaled(s.of[tile][2 * h]), shift));
        const float p1 = exp2_approx(__fsub_rn(scaled(s.of[tile][2 * h + 1]), shift));
        const int key = 16 * at.warp + 8 * tile + 2 * at.t;
        *reinterpret_cast<float2*>(&shared.p32[row][key]) = make_float2(p0, p1);
        *reinterpret_cast<__nv_bfloat162*>(&shared.p[row][key]) = __floats2bfloat162_rn(p0, p1);
      }
    }
  }
};

template <int kHalves>
__global__ void __launch_bounds__(kThreads, 1)
    paged_attention_kernel(int heads, int kv_heads, const Number* qk, const int32_t* positions, int64_t rows,
                           int rows_a_block, Pages pages, Number* out) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared<kHalves>*>(memory);
  const int kv_head = int(blockIdx.x % unsigned(kv_heads)), group = heads / kv_heads;
  const int64_t begin = int64_t(blockIdx.x / unsigned(kv_heads)) * rows_a_block;
  const int64_t end = min(begin + rows_a_block, rows), q_stride = (heads + kv_heads) * kHeadDim;
  const auto sequence = [&](int64_t row) { return pages.row ? int64_t(pages.row[row]) : row; };
  if (threadIdx.x == 0) {
    for (auto& barrier : shared.arrived) init_barrier(address(&barrier));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  Loader<Shared<kHalves>> loader(shared, pages, kv_heads, kv_head);
  Block<kHalves> block{shared};
  for (int64_t row = begin, next; row < end; row = next) {
    next = row + 1;
    while (next < end && sequence(next) == sequence(row)) ++next;
    const int head = kv_head * group;
    block.attend(loader, pages.table + sequence(row) * pages.max_pages, positions + row, int(next - row),
                 group, qk + row * q_stride + head * kHeadDim, q_stride,
                 out + (row * heads + head) * kHeadDim, heads * kHeadDim);
  }
}

template <int kHalves>
void launch(const HeadShape& shape, const void* qk, const int32_t* positions, int64_t rows, int rows_a_block,
            const Pages& pages, void* out, cudaStream_t stream) {
  constexpr int kBytes = int(sizeof(Shared<kHalves>));
  const auto kernel = paged_attention_kernel<kHalves>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "paged_attention");
  const int64_t blocks = (rows + rows_a_block - 1) / rows_a_block * shape.kv_heads;
  kernel<<<unsigned(blocks), kThreads, kBytes, stream>>>(int(shape.heads), int(shape.kv_heads),
                                                         static_cast<const Number*>(qk), positions, rows,
                                                         rows_a_block, pages, static_cast<Number*>(out));
  check(cudaGetLastError(), "paged_attention");
}

// One block a token and head, one thread a chunk of 8 numbers.
__global__ void write_pages_kernel(int heads, int kv_heads, const Number* qk, const Number* qkv,
                                   const int32_t* positions, Pages pages) {
  const int64_t row = blockIdx.x;
  const int position = positions[row];
  if (position < 0) return;
  const int64_t sequence = pages.row ? pages.row[row] : row;
  const int64_t page = pages.table[sequence * pages.max_pages + position / kPageTokens];
  const int token = position % int(kPageTokens), chunk = int(threadIdx.x) % 16,
            is_value = int(threadIdx.x) / 16;
  for (int head = 0; head < kv_heads; ++head) {
    const Number* from = is_value ? qkv + (row * (heads + 2 * kv_heads) + heads + kv_heads + head) * kHeadDim
                                  : qk + (row * (heads + kv_heads) + heads + head) * kHeadDim;
    Number* to = static_cast<Number*>(pages.base) + ((page * kv_heads + head) * 2 + is_value) * kMatrix +
                 token * kHeadDim + (chunk ^ token % 8) * 8;
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from + chunk * 8);
  }
}

}  // namespace

void paged_attention(const HeadShape& shape, const void* qk, const int32_t* positions, int64_t rows,
                     const Pages& pages, void* out, cudaStream_t stream) {
  require(shape.head_dim == kHeadDim && shape.group() <= kMaxGroup,
          "paged_attention: head dimension 128, groups of 8");
  if (rows == 0) return;
  if (rows <= kDecodingRows)
    launch<1>(shape, qk, positions, rows, 1, pages, out, stream);
  else
    launch<2>(shape, qk, positions, rows, int(16 / shape.group()), pages, out, stream);
}

void write_pages(const HeadShape& shape, const void* qk, const void* qkv, const int32_t* positions,
                 int64_t rows, const Pages& pages, cudaStream_t stream) {
  require(shape.head_dim == kHeadDim, "write_pages: head dimension 128");
  if (rows == 0) return;
  write_pages_kernel<<<unsigned(rows), 32, 0, stream>>>(int(shape.heads), int(shape.kv_heads),
                                                        static_cast<const Number*>(qk),
                                                        static_cast<const Number*>(qkv), positions, pages);
  check(cudaGetLastError(), "write_pages");
}

}  // namespace temper::cuda
