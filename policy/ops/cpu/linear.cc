#include "policy/ops/cpu/linear.h"

#include <algorithm>
#include <vector>

#include "policy/ops/cpu/parallel.h"

namespace temper::policy::cpu {
namespace {

constexpr int64_t kOutTile = 48;     // rows of dw that one task adds up
constexpr int64_t kRowsAdded = 240;  // summed in registers before dw is touched; fixed, so that sums are

// f(item, i) for each i in [0, count(item)) of each item.
template <class Item, class Count, class F>
void parallel_parts(std::span<const Item> items, const Count& count, const F& f) {
  std::vector<std::pair<const Item*, int64_t>> parts;
  for (const Item& item : items)
    for (int64_t i = 0; i < count(item); ++i) parts.emplace_back(&item, i);
  parallel_tasks(int64_t(parts.size()),
                 [&](int64_t i) { f(*parts[size_t(i)].first, parts[size_t(i)].second); });
}

}  // namespace

template <class T>
void pack_linears(std::span<const LinearPanels<T>> linears) {
  const auto panels = [](const LinearPanels<T>& l) { return (l.out + kPanel<T> - 1) / kPanel<T>; };
  parallel_parts(linears, panels, [](const LinearPanels<T>& l, int64_t panel) {
    const int64_t first = panel * kPanel<T>;
    pack_transposed(l.w + first * l.in, std::min(kPanel<T>, l.out - first), l.in, l.in,
                    l.panels + first * l.in);
  });
}

template <class T>
void linear(const T* x, const T* panels, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y) {
  gemm_panels(rows, out, in, x, in, panels, accumulate, y, out);
}

template <class T>
void add_bias(const T* bias, int64_t rows, int64_t width, T* y) {
  if (!bias) return;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < width; ++i) y[r * width + i] += bias[i];
}

template <class T>
void linear_backward_input(const T* dy, const T* w, int64_t rows, int64_t in, int64_t out, T* dx) {
  gemm(Op::kPlain, rows, in, out, dy, out, w, in, false, dx, in);
}

template <class T>
void linear_backward_weights(std::span<const WeightGradient<T>> gradients, int64_t rows) {
  const auto tiles = [](const WeightGradient<T>& g) { return (g.out + kOutTile - 1) / kOutTile; };
  parallel_parts(gradients, tiles, [&](const WeightGradient<T>& g, int64_t tile) {
    const int64_t o = tile * kOutTile, tile_out = std::min(kOutTile, g.out - o);
    for (int64_t r = 0; r < rows; r += kRowsAdded)
      gemm(Op::kTransposed, tile_out, g.in, std::min(kRowsAdded, rows - r), g.dy + r * g.out + o, g.out,
           g.x + r * g.in, g.in, true, g.dw + o * g.in, g.in);
  });
}

template <class T>
void add_bias_backward(const T* dy, int64_t rows, int64_t width, T* d_bias) {
  if (!d_bias) return;
  parallel_tasks((width + kOutTile - 1) / kOutTile, [&](int64_t tile) {
    const int64_t begin = tile * kOutTile, end = std::min(width, begin + kOutTile);
    T sums[kOutTile] = {};
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = begin; i < end; ++i) sums[i - begin] += dy[r * width + i];
    for (int64_t i = begin; i < end; ++i) d_bias[i] += sums[i - begin];
  });
}

#define TEMPER_INSTANTIATE(T)                                                             \
  template void add_bias(const T*, int64_t, int64_t, T*);                                 \
  template void add_bias_backward(const T*, int64_t, int64_t, T*);                        \
  template void pack_linears(std::span<const LinearPanels<T>>);                           \
  template void linear(const T*, const T*, int64_t, int64_t, int64_t, bool, T*);          \
  template void linear_backward_input(const T*, const T*, int64_t, int64_t, int64_t, T*); \
  template void linear_backward_weights(std::span<const WeightGradient<T>>, int64_t);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
