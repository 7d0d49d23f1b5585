#include "policy/ops/cuda/device/launch.h"
#include "policy/ops/cuda/lm_head_cut.cuh"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

constexpr int64_t kMostTiles = 4096;  // 48 KB of shared memory

// What is remembered of a row's tiles.
struct Tile {
  float max, below, sum;  // Σ 2^((x − below) · scale2)
};

__device__ float tile_weight(const Tile& tile, float max, float scale2) {
  return tile.sum * exp2_fast(ExpSums::shift(tile.below, max, scale2));
}

// The sum over this lane's addend and those of the lanes before it.
__device__ double running_sum(double addend) {
  double sum = addend;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const double lower = __shfl_up_sync(~0u, sum, step);
    if (int(threadIdx.x) % 32 >= step) sum += lower;
  }
  return sum;
}

// The first lane whose addend takes the running sum past the limit, and the sum before it. Where there is
// none the last lane that adds anything, and nothing that could ever pass.
struct Crossing {
  bool found;
  int lane;
  double before;
};

__device__ Crossing find_crossing(double addend, double sum, double limit) {
  const uint32_t past = __ballot_sync(~0u, addend > 0 && sum > limit);
  const uint32_t any = __ballot_sync(~0u, addend > 0);
  if (past == 0) return {false, 31 - __clz(int(any)), -DBL_MAX};
  const int first = __ffs(int(past)) - 1;
  return {true, first, __shfl_sync(~0u, sum - addend, first)};
}

// The first of `count` values, this lane's own, whose addition takes `before` past the limit; the last with
// any weight where rounding leaves none. `before` becomes the sum before it.
template <class F>
__device__ int first_past(int count, const F& value, double& before, double limit) {
  int last = 0;
  double sum = before;
  for (int i = 0; i < count; ++i) {
    const double v = double(value(i));
    if (!(v > 0)) continue;
    last = i;
    before = sum;
    sum += v;
    if (sum > limit) break;
  }
  return last;
}

// The tile in which the running sum over the row passes u of the whole, the limit.
struct Place {
  int tile;
  double before, limit;
};

__device__ Place find_tile(const Tile* tiles, int count, float max, float scale2, float u) {
  const int each = (count + 31) / 32, begin = min(count, int(threadIdx.x) * each);
  const int mine = min(count, begin + each) - begin;
  const auto value = [&](int i) { return tile_weight(tiles[begin + i], max, scale2); };
  double addend = 0;
  for (int i = 0; i < mine; ++i) addend += double(value(i));
  const double sum = running_sum(addend), limit = double(u) * __shfl_sync(~0u, sum, 31);
  Crossing crossing = find_crossing(addend, sum, limit);
  const int tile = begin + first_past(mine, value, crossing.before, limit);
  return {__shfl_sync(~0u, tile, crossing.lane), __shfl_sync(~0u, crossing.before, crossing.lane), limit};
}

template <class T>
__device__ int find_in_tile(const T* row, int tokens, const Place& place, float max, float scale2,
                            KeepFrom keep) {
  constexpr int kNumbers = kTileNumbers<T>;
  const TilePacks<T> packs = load_tile(row, tokens, place.tile);
  double before = place.before;
  int id = 0;
#pragma unroll
  for (int p = 0; p < kTilePacks; ++p) {
    const int at = tile_at<T>(place.tile, p);
    float x[kNumbers];
    unpack(packs.packs[p], x);
    double addend = 0;
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      x[i] = at + i < tokens && keep(x[i]) ? weight(x[i], max, scale2) : 0;
      addend += double(x[i]);
    }
    const double sum = before + running_sum(addend);
    before = __shfl_sync(~0u, sum, 31);
    Crossing crossing = find_crossing(addend, sum, place.limit);
    if (crossing.lane < 0) continue;
    const int found = at + first_past(kNumbers, [&](int i) { return x[i]; }, crossing.before, place.limit);
    id = __shfl_sync(~0u, found, crossing.lane);
    if (crossing.found) break;
  }
  return id;
}

// The first of the largest logits.
template <class T>
__device__ int find_max(const T* row, int tokens, const Tile* tiles, int count, float max) {
  int tile = 0;
  for (int first = 0; first < count; first += 32) {
    const int t = first + int(threadIdx.x);
    const uint32_t holds = __ballot_sync(~0u, t < count && tiles[t].max == max);
    tile = first + __ffs(int(holds)) - 1;
    if (holds) break;
  }
  const TilePacks<T> packs = load_tile(row, tokens, tile);
  int id = tokens;
#pragma unroll
  for (int p = 0; p < kTilePacks; ++p) {
    const int at = tile_at<T>(tile, p);
    float x[kTileNumbers<T>];
    unpack(packs.packs[p], x);
#pragma unroll
    for (int i = 0; i < kTileNumbers<T>; ++i)
      if (at + i < tokens && x[i] == max) id = min(id, at + i);
  }
  return min(int(__reduce_min_sync(~0u, unsigned(id))), tokens - 1);
}

// One block a draw.
template <class T>
__global__ void __launch_bounds__(kHeadThreads, 2)
    sample_rows_kernel(const T* logits, int vocab, int tokens, const Draw* draws, int32_t* ids,
                       float* log_prob) {
  extern __shared__ Tile tiles[];
  const Draw draw = draws[blockIdx.x];
  const T* row = logits + int64_t(draw.row) * vocab;
  const auto remember = [&](int tile, float max, float below, float sum) {
    sum = sum_over_lanes(sum);
    if (threadIdx.x % 32 == 0) tiles[tile] = {max, below, sum};
  };
  // The barriers of the last reading publish the tiles.
  RowStats stats = row_stats(row, tokens, draw.scale, KeepAll{}, remember);
  KeepFrom keep = {-FLT_MAX};
  if (const DeviceTruncation truncation = {draw.top_p, draw.top_k}; truncation.any()) {
    keep.cut = find_cut(row, tokens, stats.max, draw.scale, truncation);
    stats = row_stats(row, tokens, draw.scale, keep, remember);
  }
  if (threadIdx.x >= 32) return;
  const int count = (tokens + kTile<T> - 1) / kTile<T>;
  const float scale2 = __fmul_rn(draw.scale, kLog2E);
  int id;
  if (draw.greedy) {
    id = find_max(row, tokens, tiles, count, stats.max);
  } else {
    const Place place = find_tile(tiles, count, stats.max, scale2, draw.u);
    id = find_in_tile(row, tokens, place, stats.max, scale2, keep);
  }
  if (threadIdx.x != 0) return;
  ids[blockIdx.x] = id;
  log_prob[blockIdx.x] = stats.log_prob(to_float(row[id]), draw.scale);
}

}  // namespace

void sample_rows(DType dtype, const void* logits, int64_t vocab, int64_t tokens, const Draw* draws,
                 int64_t count, int32_t* ids, float* log_prob, cudaStream_t stream) {
  check_numbers("sample_rows", dtype, vocab, kMostTiles * kTile<float>);
  if (count == 0) return;
  with_type(dtype, [&]<class T>(T) {
    const size_t shared = size_t((tokens + kTile<T> - 1) / kTile<T>) * sizeof(Tile);
    sample_rows_kernel<<<unsigned(count), kHeadThreads, shared, stream>>>(
        static_cast<const T*>(logits), int(vocab), int(tokens), draws, ids, log_prob);
  });
  check_launch("sample_rows");
}

}  // namespace temper::policy::cuda
