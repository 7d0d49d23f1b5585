#include <cuda_bf16.h>

#include "policy/ops/paged_attention.h"

namespace temper::cuda {
namespace {

using Number = __nv_bfloat16;

constexpr int kHeadDim = 128;
constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMaxGroup = 8;  // query heads of a key head: half the rows of a tensor core's tile
constexpr int kMatrix = kPageTokens * kHeadDim;  // numbers of a page's keys, and of its values
constexpr uint32_t kRowBytes = kHeadDim * sizeof(Number);
constexpr uint32_t kMatrixBytes = kMatrix * sizeof(Number), kPageBytes = 2 * kMatrixBytes;
constexpr int kStages = 3;  // pages in shared memory at once
constexpr float kScale = 0.08838834764831845f, kLog2e = 1.4426950408889634f;

// Padded by 8 numbers a row: the rows that ldmatrix reads together lie in different banks.
constexpr int kWeightStride = kPageTokens + 8, kSumStride = kPageTokens + 4;

struct Shared {
  alignas(128) unsigned char pages[kStages][kPageBytes];
  alignas(16) Number p[kMaxGroup][kWeightStride];  // as P·V takes them
  float p32[kMaxGroup][kSumStride];                // as they are added up
  float warp_max[kWarps][kMaxGroup];
  float inverse_sum[kMaxGroup];
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

// c += a · b, 16 × 8 × 16; rows 8 … 15 of a are zero.
__device__ void multiply_add(float (&c)[4], const uint32_t (&a)[2], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %6, %5, %6}, {%7, %8}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(0), "r"(b0), "r"(b1));
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
class Loader {
 public:
  __device__ Loader(Shared& shared, const Pages& pages, const int32_t* table, int64_t kv_heads, int kv_head,
                    int keys)
      : shared_(shared),
        base_(static_cast<const Number*>(pages.base) + int64_t(kv_head) * 2 * kMatrix),
        page_stride_(kv_heads * 2 * kMatrix),
        table_(table),
        keys_(keys),
        count_((keys + int(kPageTokens) - 1) / int(kPageTokens)),
        page_(count_ > 0 ? table[0] : 0) {}

  __device__ void next() {
    if (next_ == count_) return;
    const uint32_t barrier = address(&shared_.arrived[next_ % kStages]),
                   to = address(shared_.pages[next_ % kStages]);
    const Number* from = base_ + page_ * page_stride_;
    const int tokens = min(keys_ - next_ * int(kPageTokens), int(kPageTokens));
    if (tokens == kPageTokens) {
      expect_bytes(barrier, kPageBytes);
      copy_in(to, from, kPageBytes, barrier);
    } else {
      const uint32_t bytes = uint32_t(tokens) * kRowBytes;
      expect_bytes(barrier, 2 * bytes);
      copy_in(to, from, bytes, barrier);
      copy_in(to + kMatrixBytes, from + kMatrix, bytes, barrier);
    }
    if (++next_ < count_) page_ = table_[next_];  // long before it is needed
  }

 private:
  Shared& shared_;
  const Number* base_;
  int64_t page_stride_;
  const int32_t* table_;
  int keys_, count_, next_ = 0;
  int64_t page_;
};

// One block: the query heads of one key head, for one row. Of a page, each warp takes 16 keys for Q·Kᵀ and 16
// columns for P·V. In the registers of a tile, lane 4g + t holds columns 2t and 2t + 1 of row g.
struct Lane {
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
};

struct Scores {
  float s[2][4];  // two tiles of 8 keys; only elements 0 and 1, of row g
};

__device__ Scores scores(const uint32_t (&q)[kHeadDim / 16][2], uint32_t keys, const Lane& at) {
  Scores result = {};
  const int matrix = at.lane / 8, key = 16 * at.warp + matrix / 2 * 8 + at.lane % 8;
  const uint32_t row = keys + uint32_t(key) * kRowBytes;
#pragma unroll
  for (int step = 0; step < kHeadDim / 16; ++step) {
    uint32_t k[4];
    load_matrices(k, row + uint32_t(((step * 2 + matrix % 2) ^ (key % 8)) * 16));
    multiply_add(result.s[0], q[step], k[0], k[1]);
    multiply_add(result.s[1], q[step], k[2], k[3]);
  }
  return result;
}

// out (two tiles of 8 columns) += p · values
__device__ void add_values(float (&out)[2][4], uint32_t p, uint32_t values, const Lane& at) {
  const int matrix = at.lane / 8;
#pragma unroll
  for (int step = 0; step < int(kPageTokens) / 16; ++step) {
    uint32_t a[2], v[4];
    load_matrices(a, p + uint32_t(at.lane % 8 * kWeightStride) * sizeof(Number) +
                         uint32_t((step * 2 + matrix % 2) * 16));
    const int key = step * 16 + matrix % 2 * 8 + at.lane % 8;
    load_matrices_transposed(
        v, values + uint32_t(key) * kRowBytes + uint32_t(((2 * at.warp + matrix / 2) ^ (key % 8)) * 16));
    multiply_add(out[0], a, v[0], v[1]);
    multiply_add(out[1], a, v[2], v[3]);
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

// What lies behind the last token may be anything, and zero times infinity is not zero.
__device__ void clear_values(unsigned char* page, int from_token) {
  uint4* values = reinterpret_cast<uint4*>(page + kMatrixBytes);
  for (int i = from_token * 16 + int(threadIdx.x); i < int(kPageTokens) * 16; i += kThreads)
    values[i] = make_uint4(0, 0, 0, 0);
}

__global__ void __launch_bounds__(kThreads, 1)
    paged_attention_kernel(int heads, int kv_heads, const Number* qk, const int32_t* positions, Pages pages,
                           Number* out) {
  extern __shared__ __align__(128) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const Lane at;
  const int64_t row = blockIdx.x / unsigned(kv_heads);
  const int kv_head = int(blockIdx.x % unsigned(kv_heads)), group = heads / kv_heads,
            first_head = kv_head * group;
  const int keys = positions[row] + 1, blocks = (keys + int(kPageTokens) - 1) / int(kPageTokens);
  Number* const out_row = out + (row * heads + first_head) * kHeadDim;
  if (keys <= 0) {
    for (int i = int(threadIdx.x); i < group * kHeadDim; i += kThreads) out_row[i] = __float2bfloat16_rn(0);
    return;
  }
  const int64_t sequence = pages.row ? pages.row[row] : row;
  Loader loader(shared, pages, pages.table + sequence * pages.max_pages, kv_heads, kv_head, keys);
  if (threadIdx.x == 0) {
    for (auto& barrier : shared.arrived) init_barrier(address(&barrier));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (int i = 0; i < kStages - 1; ++i) loader.next();
  }
  for (int i = int(threadIdx.x); i < kMaxGroup * kWeightStride; i += kThreads)
    (&shared.p[0][0])[i] = __float2bfloat16_rn(0);
  uint32_t q[kHeadDim / 16][2];
  const Number* q_row = qk + row * (heads + kv_heads) * kHeadDim + (first_head + at.g) * kHeadDim;
#pragma unroll
  for (int step = 0; step < kHeadDim / 16; ++step)
    for (int half = 0; half < 2; ++half)
      q[step][half] =
          at.g < group ? *reinterpret_cast<const uint32_t*>(q_row + step * 16 + half * 8 + at.t * 2) : 0;
  __syncthreads();

  float maximum = -INFINITY, sum = 0, acc[2][4] = {};  // of row g; sum: this lane's share, in the last warp
  for (int block = 0; block < blocks; ++block) {
    unsigned char* const page = shared.pages[block % kStages];
    wait(address(&shared.arrived[block % kStages]), uint32_t(block / kStages % 2));
    const int visible = keys - block * int(kPageTokens);
    if (visible < kPageTokens) clear_values(page, visible);
    auto [s] = scores(q, address(page), at);
    float most = -INFINITY;
    for (int tile = 0; tile < 2; ++tile)
      for (int e = 0; e < 2; ++e) {
        if (16 * at.warp + 8 * tile + 2 * at.t + e >= visible) s[tile][e] = -INFINITY;
        most = fmaxf(most, s[tile][e]);
      }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
    if (at.t == 0) shared.warp_max[at.warp][at.g] = most;
    __syncthreads();

    if (threadIdx.x == 0) loader.next();  // into the page that all have left
    const float old_maximum = maximum;
    for (int warp = 0; warp < kWarps; ++warp) maximum = fmaxf(maximum, shared.warp_max[warp][at.g]);
    const float shift = scaled(maximum);
    const float decay = block == 0 ? 0 : exp2_approx(__fsub_rn(scaled(old_maximum), shift));
    if (at.g < group)
      for (int tile = 0; tile < 2; ++tile) {
        const float p0 = exp2_approx(__fsub_rn(scaled(s[tile][0]), shift));
        const float p1 = exp2_approx(__fsub_rn(scaled(s[tile][1]), shift));
        const int key = 16 * at.warp + 8 * tile + 2 * at.t;
        *reinterpret_cast<float2*>(&shared.p32[at.g][key]) = make_float2(p0, p1);
        *reinterpret_cast<__nv_bfloat162*>(&shared.p[at.g][key]) = __floats2bfloat162_rn(p0, p1);
      }
    __syncthreads();

    if (at.warp == kWarps - 1 && at.g < group) sum = __fmaf_rn(sum, decay, lane_sum(shared.p32[at.g], at.t));
    for (auto& tile : acc)
      for (int e = 0; e < 2; ++e) tile[e] = __fmul_rn(tile[e], decay);
    add_values(acc, address(shared.p), address(page) + kMatrixBytes, at);
  }
  if (at.warp == kWarps - 1) {
    sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, 1));
    sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, 2));
    if (at.t == 0) shared.inverse_sum[at.g] = reciprocal_approx(sum);
  }
  __syncthreads();
  if (at.g >= group) return;
  const float inverse = shared.inverse_sum[at.g];
  for (int tile = 0; tile < 2; ++tile)
    *reinterpret_cast<__nv_bfloat162*>(out_row + at.g * kHeadDim + 16 * at.warp + 8 * tile + 2 * at.t) =
        __floats2bfloat162_rn(__fmul_rn(acc[tile][0], inverse), __fmul_rn(acc[tile][1], inverse));
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
  check(cudaFuncSetAttribute(paged_attention_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             int(sizeof(Shared))),
        "paged_attention");
  paged_attention_kernel<<<unsigned(rows * shape.kv_heads), kThreads, sizeof(Shared), stream>>>(
      int(shape.heads), int(shape.kv_heads), static_cast<const Number*>(qk), positions, pages,
      static_cast<Number*>(out));
  check(cudaGetLastError(), "paged_attention");
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
