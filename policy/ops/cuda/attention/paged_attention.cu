#include "policy/ops/cuda/attention/bulk_copy.cuh"
#include "policy/ops/cuda/attention/paged_attention.h"
#include "policy/ops/cuda/attention/paged_attention_tile.cuh"
#include "policy/ops/cuda/device/launch.cuh"

namespace temper::policy::cuda {
namespace {

constexpr int kConsumers = 32 * kWarps, kThreads = kConsumers + 32;
constexpr int kMaxGroup = 8;                // query heads of a key head
constexpr int kStageBytes = 96 << 10;       // of pages in shared memory at once
constexpr int kBlocksOfMultiprocessor = 2;  // one begins and ends while the other streams

// More rows than a decoding step has are those of longer pieces of sequences: a tile then takes rows that
// follow each other together.
constexpr int64_t kDecodingRows = 512;

// What a tile holds: one key head's query heads, for some rows of one sequence that follow each other. Row i
// of the tile is query head i % group of row i / group.
struct Piece {
  int64_t row;
  int rows;
  int keys;  // that the last of them attends to
};

// A tensor core's tile has 16 rows, kHalves · 8 of them in use.
template <int kHeadDim, int kHalves>
struct Shared {
  // Each holds keys or values of a page.
  static constexpr int kStages = kStageBytes / int(HeadSizes<kHeadDim>::kMatrixBytes);

  alignas(128) unsigned char stages[kStages][HeadSizes<kHeadDim>::kMatrixBytes];
  alignas(16) Number p[kHalves * 8][kWeightStride];  // as P·V takes them
  float p32[kHalves * 8][kSumStride];                // as they are added up
  float warp_max[kWarps][kHalves * 8];
  float inverse_sum[kHalves * 8];
  alignas(8) uint64_t full[kStages], empty[kStages];
};

struct Problem {
  int heads, kv_heads;
  const Number* qk;          // [rows, (H+K)·hd]
  const int32_t* positions;  // [rows]
  int64_t rows;
  int rows_of_block;
  Pages pages;
  Number* out;  // [rows, H·hd]
};

// One block's part of it: one key head of some rows.
struct Part : Problem {
  __device__ explicit Part(const Problem& problem) : Problem(problem) {}

  int group = heads / kv_heads, kv_head = int(blockIdx.x % unsigned(kv_heads));
  int64_t begin = int64_t(blockIdx.x / unsigned(kv_heads)) * rows_of_block;
  int64_t end = min(begin + rows_of_block, rows);

  __device__ int64_t sequence(int64_t row) const { return pages.row ? int64_t(pages.row[row]) : row; }
  __device__ Piece piece_at(int64_t row) const {
    Piece piece{row, 1, positions[row] + 1};
    for (int64_t next = row + 1; next < end && sequence(next) == sequence(row); ++next, ++piece.rows)
      piece.keys = max(piece.keys, positions[next] + 1);
    return piece;
  }
};

// Brings the pages of the pieces into shared memory, as far ahead as there is room. One thread's.
template <int kHeadDim, int kHalves>
class Loader {
  using Memory = Shared<kHeadDim, kHalves>;
  static constexpr int kMatrix = HeadSizes<kHeadDim>::kMatrix;

 public:
  __device__ Loader(Memory& shared, const Part& part) : shared_(shared), part_(part) {}

  // While decoding, of what is read here only each row's own token comes from the kernel before.
  __device__ void run() {
    if (part_.pages.row) wait_for_previous();
    Piece piece;
    for (int64_t row = part_.begin; row < part_.end; row += piece.rows) {
      piece = part_.piece_at(row);
      load_piece(piece);
    }
  }

 private:
  __device__ void load_piece(const Piece& piece) {
    const int32_t* table = part_.pages.table + part_.sequence(piece.row) * part_.pages.max_pages;
    const auto* const base =
        static_cast<const Number*>(part_.pages.base) + int64_t(part_.kv_head) * 2 * kMatrix;
    int64_t page = *table;
    int key = 0;
    do {
      const Number* from = base + page * part_.kv_heads * 2 * kMatrix;
      const int tokens = max(0, min(piece.keys - key, int(kPageTokens)));
      key += int(kPageTokens);
      if (key < piece.keys)
        page = *++table;  // long before it is needed
      else
        wait_for_previous();
      load(from, tokens);
      load(from + kMatrix, tokens);
    } while (key < piece.keys);
  }

  __device__ void load(const Number* from, int tokens) {
    const int stage = loads_ % Memory::kStages;
    wait(address(&shared_.empty[stage]), uint32_t(loads_++ / Memory::kStages % 2 ^ 1));
    // Without it a slow warp's clear_values may come after the copy, for all that it has a fence of its own:
    // seen.
    order_before_copies();
    const uint32_t barrier = address(&shared_.full[stage]),
                   bytes = uint32_t(tokens) * HeadSizes<kHeadDim>::kRowBytes;
    arrive_expecting(barrier, bytes);
    if (bytes > 0) copy_in(address(shared_.stages[stage]), from, bytes, barrier);
  }

  Memory& shared_;
  const Part& part_;
  int loads_ = 0;
};

// A barrier of the threads that compute.
__device__ void meet() { asm volatile("bar.sync 1, %0;" ::"n"(kConsumers) : "memory"); }

// The threads that compute, a piece at a time.
template <int kHeadDim, int kHalves>
class Attending {
  using Memory = Shared<kHeadDim, kHalves>;
  using Sizes = HeadSizes<kHeadDim>;

 public:
  __device__ Attending(Memory& shared, const Part& part) : shared_(shared), part_(part) {}

  __device__ void run() {
    wait_for_previous();
    Piece piece;
    for (int64_t row = part_.begin; row < part_.end; row += piece.rows) {
      piece = part_.piece_at(row);
      attend(piece);
    }
  }

 private:
  __device__ void attend(const Piece& piece) {
    uint32_t q[Sizes::kSteps][2 * kHalves];
    int keys_of[kHalves];
    load_queries(piece, q, keys_of);

    float maximum[kHalves], sum = 0;  // sum: a lane's share, of row g + 8h in warp kWarps - 1 - h
    for (float& m : maximum) m = -INFINITY;
    Outputs<kHeadDim> acc = {};
    int first_key = 0;
    do {
      const uint32_t keys = next_stage();
      Scores s = scores<kHeadDim, kHalves>(q, keys, at_);
      leave_stage();
      mask(s, keys_of, first_key);
      meet();
      float decay[kHalves];
      weigh(s, keys_of, first_key == 0, maximum, decay);
      meet();
      const uint32_t values = next_stage();
      if (piece.keys - first_key < kPageTokens) clear_values(values, piece.keys - first_key);
      for (int h = 0; h < kHalves; ++h) {
        if (at_.warp == kWarps - 1 - h && keys_of[h] > 0)
          sum = __fmaf_rn(sum, decay[h], lane_sum(shared_.p32[at_.g + 8 * h], at_.t));
        for (auto& tile : acc.of)
          for (int e = 0; e < 2; ++e) tile[2 * h + e] = __fmul_rn(tile[2 * h + e], decay[h]);
      }
      add_values<kHeadDim, kHalves>(acc, address(shared_.p), values, at_);
      leave_stage();
    } while ((first_key += int(kPageTokens)) < piece.keys);

    if (at_.warp >= kWarps - kHalves) {
      sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, 2));
      if (at_.t == 0) shared_.inverse_sum[at_.g + 8 * (kWarps - 1 - at_.warp)] = reciprocal_approx(sum);
    }
    meet();
    store(piece, acc, keys_of);
  }

  // Of this thread's rows, and how many keys they attend to.
  __device__ void load_queries(const Piece& piece, uint32_t (&q)[Sizes::kSteps][2 * kHalves],
                               int (&keys_of)[kHalves]) {
    const int group = part_.group;
    for (int h = 0; h < kHalves; ++h) {
      const int i = at_.g + 8 * h, row = i / group;
      const bool mine = row < piece.rows;
      keys_of[h] = mine ? part_.positions[piece.row + row] + 1 : 0;
      const int head = part_.kv_head * group + i % group;
      const Number* from = part_.qk + ((piece.row + row) * (part_.heads + part_.kv_heads) + head) * kHeadDim;
#pragma unroll
      for (int step = 0; step < Sizes::kSteps; ++step)
        for (int part = 0; part < 2; ++part)
          q[step][part * kHalves + h] =
              mine ? *reinterpret_cast<const uint32_t*>(from + step * 16 + part * 8 + at_.t * 2) : 0;
    }
  }

  __device__ uint32_t next_stage() {
    const int stage = used_ % Memory::kStages;
    wait(address(&shared_.full[stage]), uint32_t(used_ / Memory::kStages % 2));
    return address(shared_.stages[stage]);
  }

  __device__ void leave_stage() {
    __syncwarp();
    if (at_.lane == 0) arrive(address(&shared_.empty[used_ % Memory::kStages]));
    ++used_;
  }

  // What lies behind the last token may be anything, and zero times infinity is not zero. Each warp clears
  // the columns that it reads.
  __device__ void clear_values(uint32_t values, int from_token) {
    constexpr int kTiles = Sizes::kColumnTiles;
    for (int token = max(from_token, 0) + at_.lane / kTiles; token < kPageTokens; token += 32 / kTiles)
      asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(
                       values + value_chunk<kHeadDim>(at_, token, at_.lane % kTiles)),
                   "r"(0)
                   : "memory");
    order_before_copies();
    __syncwarp();
  }

  // Hides keys behind a row's position, and notes this warp's largest score of each row.
  __device__ void mask(Scores& s, const int (&keys_of)[kHalves], int first_key) {
    for (int h = 0; h < kHalves; ++h) {
      float most = -INFINITY;
      for (int tile = 0; tile < 2; ++tile)
        for (int e = 0; e < 2; ++e) {
          float& score = s.of[tile][2 * h + e];
          if (first_key + 16 * at_.warp + 8 * tile + 2 * at_.t + e >= keys_of[h]) score = -INFINITY;
          most = fmaxf(most, score);
        }
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      if (at_.t == 0) shared_.warp_max[at_.warp][at_.g + 8 * h] = most;
    }
  }

  // Scores become weights against the running maximum; decay: what those of earlier pages are worth now.
  __device__ void weigh(const Scores& s, const int (&keys_of)[kHalves], bool first, float (&maximum)[kHalves],
                        float (&decay)[kHalves]) {
    for (int h = 0; h < kHalves; ++h) {
      const int row = at_.g + 8 * h;
      const float before = maximum[h];
      for (int warp = 0; warp < kWarps; ++warp) maximum[h] = fmaxf(maximum[h], shared_.warp_max[warp][row]);
      const float shift = scaled<kHeadDim>(maximum[h]);
      decay[h] = first || keys_of[h] <= 0 ? 0 : exp2_approx(__fsub_rn(scaled<kHeadDim>(before), shift));
      if (keys_of[h] <= 0) continue;
      for (int tile = 0; tile < 2; ++tile) {
        const float p0 = exp2_approx(__fsub_rn(scaled<kHeadDim>(s.of[tile][2 * h]), shift));
        const float p1 = exp2_approx(__fsub_rn(scaled<kHeadDim>(s.of[tile][2 * h + 1]), shift));
        const int key = 16 * at_.warp + 8 * tile + 2 * at_.t;
        *reinterpret_cast<float2*>(&shared_.p32[row][key]) = make_float2(p0, p1);
        *reinterpret_cast<__nv_bfloat162*>(&shared_.p[row][key]) = __floats2bfloat162_rn(p0, p1);
      }
    }
  }

  __device__ void store(const Piece& piece, const Outputs<kHeadDim>& acc, const int (&keys_of)[kHalves]) {
    const int group = part_.group;
    for (int h = 0; h < kHalves; ++h) {
      const int i = at_.g + 8 * h, row = i / group;
      if (row >= piece.rows) continue;
      const float inverse = shared_.inverse_sum[i];
      const int head = part_.kv_head * group + i % group;
      Number* const out = part_.out + ((piece.row + row) * part_.heads + head) * kHeadDim +
                          8 * Sizes::kColumnTiles * at_.warp + 2 * at_.t;
      for (int tile = 0; tile < Sizes::kColumnTiles; ++tile) {
        float2 y =
            make_float2(__fmul_rn(acc.of[tile][2 * h], inverse), __fmul_rn(acc.of[tile][2 * h + 1], inverse));
        if (keys_of[h] <= 0) y = make_float2(0, 0);
        *reinterpret_cast<__nv_bfloat162*>(out + 8 * tile) = __floats2bfloat162_rn(y.x, y.y);
      }
    }
  }

  Memory& shared_;
  const Part& part_;
  const Lane at_{};
  int used_ = 0;  // stages
};

template <int kHeadDim, int kHalves>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor)
    paged_attention_kernel(const __grid_constant__ Problem problem) {
  extern __shared__ __align__(128) unsigned char memory[];
  auto& shared = *reinterpret_cast<Shared<kHeadDim, kHalves>*>(memory);
  if (threadIdx.x == 0) {
    for (auto& barrier : shared.full) init_barrier(address(&barrier), 1);
    for (auto& barrier : shared.empty) init_barrier(address(&barrier), kWarps);
    publish_barriers();
  }
  __syncthreads();
  const Part part(problem);
  if (threadIdx.x < kConsumers)
    Attending<kHeadDim, kHalves>(shared, part).run();
  else if (threadIdx.x == kConsumers)
    Loader<kHeadDim, kHalves>(shared, part).run();
}

template <int kHeadDim, int kHalves>
void launch(const Problem& problem, cudaStream_t stream) {
  constexpr int kBytes = int(sizeof(Shared<kHeadDim, kHalves>));
  const auto kernel = paged_attention_kernel<kHeadDim, kHalves>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes), "paged_attention");
  const int64_t blocks =
      (problem.rows + problem.rows_of_block - 1) / problem.rows_of_block * problem.kv_heads;
  launch_early(kernel, unsigned(blocks), kThreads, kBytes, stream, "paged_attention", problem);
}

}  // namespace

void paged_attention(const AttentionShape& shape, const void* qk, const int32_t* positions, int64_t rows,
                     const Pages& pages, void* out, cudaStream_t stream) {
  require(shape.group() <= kMaxGroup, "paged_attention: groups of 8");
  if (rows == 0) return;
  const bool decoding = rows <= kDecodingRows;
  const Problem problem{int(shape.heads),
                        int(shape.kv_heads),
                        static_cast<const Number*>(qk),
                        positions,
                        rows,
                        decoding ? 1 : int(16 / shape.group()),
                        pages,
                        static_cast<Number*>(out)};
  with_attention_head(shape.head_dim, [&]<int kHeadDim>() {
    decoding ? launch<kHeadDim, 1>(problem, stream) : launch<kHeadDim, 2>(problem, stream);
  });
}

}  // namespace temper::policy::cuda
