#include <algorithm>
#include <vector>

#include "policy/ops/cpu/lanes.h"
#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/row_linear.h"

namespace temper::policy::cpu {
namespace {

// Lanes are rows, so weights are read as they lie, one broadcast each. A tile of kVectors · kColumns sums
// stays in registers.
constexpr int kColumns = kVectorBytes / 16;
constexpr int kVectors = 4;
constexpr int64_t kColumnBlock = 32;
template <class T>
constexpr int64_t kTileRows = kVectors * Lanes<T>::kCount;

// One tile: `rows` rows of y (at most V vectors) by C columns. xt [in, kTileRows].
template <int V, int C, class T>
void multiply_tile(const T* xt, const T* w, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y) {
  using L = Lanes<T>;
  typename L::Vector sums[C][V] = {};
  for (int64_t k = 0; k < in; ++k) {
    const T* x = xt + k * kTileRows<T>;
    for (int c = 0; c < C; ++c)
      for (int v = 0; v < V; ++v) sums[c][v] += L::load(x + v * L::kCount) * w[c * in + k];
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int c = 0; c < C; ++c) {
      const T sum = sums[c][r / L::kCount][r % L::kCount];
      y[r * out + c] = accumulate ? y[r * out + c] + sum : sum;
    }
}

template <int V, class T>
void multiply_columns(const T* xt, const T* w, int64_t rows, int64_t in, int64_t out, int64_t columns,
                      bool accumulate, T* y) {
  int64_t c = 0;
  for (; c + kColumns <= columns; c += kColumns)
    multiply_tile<V, kColumns>(xt, w + c * in, rows, in, out, accumulate, y + c);
  for (; c < columns; ++c) multiply_tile<V, 1>(xt, w + c * in, rows, in, out, accumulate, y + c);
}

// As few vectors as hold the rows.
template <class T>
void multiply_block(const T* xt, const T* w, int64_t rows, int64_t in, int64_t out, int64_t columns,
                    bool accumulate, T* y) {
  static_assert(kVectors == 4);
  switch ((rows + Lanes<T>::kCount - 1) / Lanes<T>::kCount) {
    case 1:
      return multiply_columns<1>(xt, w, rows, in, out, columns, accumulate, y);
    case 2:
      return multiply_columns<2>(xt, w, rows, in, out, columns, accumulate, y);
    case 3:
      return multiply_columns<3>(xt, w, rows, in, out, columns, accumulate, y);
    default:
      return multiply_columns<4>(xt, w, rows, in, out, columns, accumulate, y);
  }
}

}  // namespace

template <class T>
void row_linear(const T* x, const T* w, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y) {
  constexpr int64_t kTile = kTileRows<T>;
  const int64_t tiles = (rows + kTile - 1) / kTile, blocks = (out + kColumnBlock - 1) / kColumnBlock;
  static thread_local std::vector<T> kept;  // x in tiles, [tile, in, kTile]; rows that are not there are 0
  kept.assign(size_t(tiles * in * kTile), T(0));
  T* transposed = kept.data();
  parallel_tasks(tiles, [&](int64_t tile) {
    T* xt = transposed + tile * in * kTile;
    for (int64_t r = tile * kTile; r < std::min(rows, (tile + 1) * kTile); ++r)
      for (int64_t k = 0; k < in; ++k) xt[k * kTile + r % kTile] = x[r * in + k];
  });
  parallel_tasks(tiles * blocks, [&](int64_t i) {
    const int64_t r = i / blocks * kTile, c = i % blocks * kColumnBlock;
    multiply_block(transposed + r * in, w + c * in, std::min(kTile, rows - r), in, out,
                   std::min(kColumnBlock, out - c), accumulate, y + r * out + c);
  });
}

template void row_linear(const float*, const float*, int64_t, int64_t, int64_t, bool, float*);
template void row_linear(const double*, const double*, int64_t, int64_t, int64_t, bool, double*);

}  // namespace temper::policy::cpu
