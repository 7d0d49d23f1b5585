#include "policy/ops/cpu/gemm.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "policy/ops/cpu/lanes.h"

namespace temper::policy::cpu {
namespace {

// Rows of a tile: with two vectors of b, as many sums as leave registers for b and for one element of a.
constexpr int kRows = kVectorBytes == 64 ? 12 : 6;
constexpr int kNear = 3;  // rows reached from one pointer: x86 multiplies an index by 1 and 2, but not by 3

// The left operand: element (r, k) at start[r · row + k · column].
template <class T>
struct Left {
  const T* start;
  int64_t row, column;
};

// f(0), f(1), … with constants: sums indexed by them stay in registers, indexed by a loop's variable they
// pass through memory.
template <int N, class F>
[[gnu::always_inline]] inline void repeat(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>()), ...);
  }
  (std::make_integer_sequence<int, N>());
}

// c, R rows by V vectors, sums in registers.
template <int V, class T, int R>
void multiply_tile(const Left<T>& a, const T* b, int64_t ldb, int64_t k, bool accumulate, T* c, int64_t ldc) {
  using L = Lanes<T>;
  typename L::Vector sums[R][V];
  repeat<R * V>([&](auto i) { sums[i / V][i % V] = typename L::Vector{}; });
  const int64_t row = a.row, column = a.column;
  constexpr int kPointers = (R + kNear - 1) / kNear;
  const T* near[kPointers];
  repeat<kPointers>([&](auto p) { near[p] = a.start + p * kNear * row; });
  for (int64_t i = 0; i < k; ++i, b += ldb) {
    typename L::Vector right[V];
    repeat<V>([&](auto v) { right[v] = L::load(b + v * L::kCount); });
    repeat<R>([&](auto r) {
      const T left = near[r / kNear][r % kNear * row];
      repeat<V>([&](auto v) { sums[r][v] += right[v] * left; });
    });
    repeat<kPointers>([&](auto p) { near[p] += column; });
  }
  repeat<R>([&](auto r) {
    repeat<V>([&](auto v) {
      T* to = c + r * ldc + v * L::kCount;
      L::store(to, accumulate ? L::load(to) + sums[r][v] : sums[r][v]);
    });
  });
}

template <class T>
using Tile = void (*)(const Left<T>&, const T*, int64_t, int64_t, bool, T*, int64_t);

// By the number of rows, from 1.
template <int V, class T, int... R>
constexpr std::array<Tile<T>, kRows> tiles(std::integer_sequence<int, R...>) {
  return {&multiply_tile<V, T, R + 1>...};
}
template <int V, class T>
constexpr auto kTiles = tiles<V, T>(std::make_integer_sequence<int, kRows>());

// The right operand: element (k, j) at start[j / kPanel · panel + k · row + j % kPanel].
template <class T>
struct Right {
  const T* start;
  int64_t row, panel;
  const T* column(int64_t j) const { return start + j / kPanel<T> * panel + j % kPanel<T>; }
};

// The last columns, fewer than a vector holds, where b's rows hold a whole one.
template <class T>
void multiply_last(int64_t rows, int64_t columns, int64_t k, const Left<T>& a, const T* b, int64_t ldb,
                   bool accumulate, T* c, int64_t ldc) {
  constexpr int64_t kCount = Lanes<T>::kCount;
  T whole[kRows * kCount];
  kTiles<1, T>[size_t(rows - 1)](a, b, ldb, k, false, whole, kCount);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j)
      c[r * ldc + j] = accumulate ? c[r * ldc + j] + whole[r * kCount + j] : whole[r * kCount + j];
}

// All columns of `rows` rows, at most kRows.
template <class T>
void multiply_rows(int64_t rows, int64_t n, int64_t k, const Left<T>& a, const Right<T>& b, bool accumulate,
                   T* c, int64_t ldc) {
  constexpr int64_t kCount = Lanes<T>::kCount;
  static_assert(kPanel<T> % (2 * kCount) == 0);  // so no tile has columns of two panels
  const auto two = kTiles<2, T>[size_t(rows - 1)], one = kTiles<1, T>[size_t(rows - 1)];
  int64_t j = 0;
  for (; j + 2 * kCount <= n; j += 2 * kCount) two(a, b.column(j), b.row, k, accumulate, c + j, ldc);
  for (; j + kCount <= n; j += kCount) one(a, b.column(j), b.row, k, accumulate, c + j, ldc);
  if (j < n) multiply_last(rows, n - j, k, a, b.column(j), b.row, accumulate, c + j, ldc);
}

// Rows outside, columns inside: the rows of a stay in the nearest cache, and c is written a few pages at a
// time.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const Left<T>& a, const Right<T>& b, bool accumulate, T* c,
              int64_t ldc) {
  const int64_t count = (m + kRows - 1) / kRows;  // of nearly equal height
  for (int64_t t = 0; t < count; ++t) {
    const int64_t r = m * t / count, r_end = m * (t + 1) / count;
    multiply_rows(r_end - r, n, k, {a.start + r * a.row, a.row, a.column}, b, accumulate, c + r * ldc, ldc);
  }
}

// y [columns, y_stride] = xᵀ, by blocks of columns whose rows of y stay in the nearest cache.
template <class T>
void transpose(const T* x, int64_t rows, int64_t columns, int64_t x_stride, T* y, int64_t y_stride) {
  constexpr int64_t kBlock = 16;
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    const int64_t end = std::min(columns, begin + kBlock);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = begin; c < end; ++c) y[c * y_stride + r] = x[r * x_stride + c];
  }
}

}  // namespace

template <class T>
void gemm(Op op_a, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
          bool accumulate, T* c, int64_t ldc) {
  constexpr int64_t kCount = Lanes<T>::kCount;
  const Left<T> left = op_a == Op::kPlain ? Left<T>{a, lda, 1} : Left<T>{a, 1, lda};
  const int64_t whole = n / kCount * kCount;
  multiply(m, whole, k, left, Right<T>{b, ldb, kPanel<T>}, accumulate, c, ldc);
  if (whole == n) return;
  static thread_local std::vector<T> last;  // b's last columns, behind them zeros
  last.assign(size_t(k * kCount), T(0));
  for (int64_t i = 0; i < k; ++i) std::copy_n(b + i * ldb + whole, n - whole, &last[size_t(i * kCount)]);
  multiply(m, n - whole, k, left, Right<T>{last.data(), kCount, 0}, accumulate, c + whole, ldc);
}

template <class T>
void gemm_panels(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* panels, bool accumulate,
                 T* c, int64_t ldc) {
  multiply(m, n, k, Left<T>{a, lda, 1}, Right<T>{panels, kPanel<T>, k * kPanel<T>}, accumulate, c, ldc);
}

template <class T>
void pack_transposed(const T* x, int64_t rows, int64_t columns, int64_t x_stride, T* panels) {
  for (int64_t r = 0; r < rows; r += kPanel<T>)
    transpose(x + r * x_stride, std::min(kPanel<T>, rows - r), columns, x_stride, panels + r * columns,
              kPanel<T>);
}

#define TEMPER_INSTANTIATE(T)                                                                           \
  template void gemm(Op, int64_t, int64_t, int64_t, const T*, int64_t, const T*, int64_t, bool, T*,     \
                     int64_t);                                                                          \
  template void gemm_panels(int64_t, int64_t, int64_t, const T*, int64_t, const T*, bool, T*, int64_t); \
  template void pack_transposed(const T*, int64_t, int64_t, int64_t, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
