#include "policy/ops/linear.h"

#include <algorithm>
#include <vector>

#include "policy/ops/gemm.h"
#include "policy/ops/parallel.h"

namespace temper::cpu {
namespace {

constexpr int64_t kRowTile = 120;    // of activations that one task takes
constexpr int64_t kOutTile = 48;     // of the rows of dw
constexpr int64_t kRowsAdded = 240;  // summed in registers before dw is touched; fixed, so that sums are

// f(first row, rows, first column, columns) over even tiles of a [rows, columns] result: along rows first,
// along columns too, by whole panels, where that gives too few for all threads.
template <class T, class F>
void for_each_tile(int64_t rows, int64_t row_tile, int64_t columns, const F& f) {
  const int64_t down = (rows + row_tile - 1) / row_tile, panels = (columns + kPanel<T> - 1) / kPanel<T>;
  const int64_t wanted = (4 * thread_count() + down - 1) / std::max<int64_t>(down, 1);
  const int64_t across = std::clamp<int64_t>(wanted, 1, panels);
  parallel_tasks(down * across, [&](int64_t i) {
    const int64_t r = rows * (i / across) / down, r_end = rows * (i / across + 1) / down;
    const int64_t c = panels * (i % across) / across * kPanel<T>,
                  c_end = std::min(columns, panels * (i % across + 1) / across * kPanel<T>);
    f(r, r_end - r, c, c_end - c);
  });
}

template <class T>
const T* transposed_panels(const T* w, int64_t in, int64_t out) {
  static thread_local std::vector<T> kept;
  kept.resize(size_t(panels_size<T>(out, in)));
  T* panels = kept.data();
  parallel_tasks((out + kPanel<T> - 1) / kPanel<T>, [&](int64_t p) {
    const int64_t first = p * kPanel<T>;
    pack_transposed(w + first * in, std::min(kPanel<T>, out - first), in, in, panels + first * in);
  });
  return panels;
}

}  // namespace

template <class T>
void linear(const T* x, const T* w, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y) {
  const T* panels = transposed_panels(w, in, out);
  for_each_tile<T>(rows, kRowTile, out, [&](int64_t r, int64_t tile_rows, int64_t c, int64_t columns) {
    gemm_panels(tile_rows, columns, in, x + r * in, in, panels + c * in, accumulate, y + r * out + c, out);
  });
}

template <class T>
void linear_backward_input(const T* dy, const T* w, int64_t rows, int64_t in, int64_t out, T* dx) {
  for_each_tile<T>(rows, kRowTile, in, [&](int64_t r, int64_t tile_rows, int64_t c, int64_t columns) {
    gemm(Op::kPlain, tile_rows, columns, out, dy + r * out, out, w + c, in, false, dx + r * in + c, in);
  });
}

template <class T>
void linear_backward_weight(const T* dy, const T* x, int64_t rows, int64_t in, int64_t out, T* dw) {
  for_each_tile<T>(out, kOutTile, in, [&](int64_t o, int64_t tile_out, int64_t c, int64_t columns) {
    for (int64_t r = 0; r < rows; r += kRowsAdded)
      gemm(Op::kTransposed, tile_out, columns, std::min(kRowsAdded, rows - r), dy + r * out + o, out,
           x + r * in + c, in, true, dw + o * in + c, in);
  });
}

#define TEMPER_INSTANTIATE(T)                                                             \
  template void linear(const T*, const T*, int64_t, int64_t, int64_t, bool, T*);          \
  template void linear_backward_input(const T*, const T*, int64_t, int64_t, int64_t, T*); \
  template void linear_backward_weight(const T*, const T*, int64_t, int64_t, int64_t, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::cpu
