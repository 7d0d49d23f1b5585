#include <algorithm>

#include "policy/ops/gemm.h"
#include "policy/ops/linear.h"
#include "policy/ops/parallel.h"

namespace temper::cpu {
namespace {

constexpr int64_t kRowTile = 256;
constexpr int64_t kColumnTile = 64;

// f(first row, rows, first column, columns) over even tiles of a [rows, columns] result: along rows first,
// along columns too where that gives too few for all threads.
template <class F>
void for_each_tile(int64_t rows, int64_t columns, const F& f) {
  const int64_t down = (rows + kRowTile - 1) / kRowTile,
                wanted = (2 * thread_count() + down - 1) / std::max<int64_t>(down, 1);
  const int64_t across = std::clamp<int64_t>(columns / kColumnTile, 1, wanted);
  parallel_tasks(down * across, [&](int64_t i) {
    const int64_t r = rows * (i / across) / down, r_end = rows * (i / across + 1) / down;
    const int64_t c = columns * (i % across) / across, c_end = columns * (i % across + 1) / across;
    f(r, r_end - r, c, c_end - c);
  });
}

}  // namespace

template <class T>
void linear(const T* x, const T* w, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y) {
  for_each_tile(rows, out, [&](int64_t r, int64_t tile_rows, int64_t c, int64_t columns) {
    gemm(Op::kPlain, Op::kTransposed, tile_rows, columns, in, T(1), x + r * in, in, w + c * in, in,
         T(accumulate), y + r * out + c, out);
  });
}

template <class T>
void linear_backward_input(const T* dy, const T* w, int64_t rows, int64_t in, int64_t out, T* dx) {
  for_each_tile(rows, in, [&](int64_t r, int64_t tile_rows, int64_t c, int64_t columns) {
    gemm(Op::kPlain, Op::kPlain, tile_rows, columns, out, T(1), dy + r * out, out, w + c, in, T(0),
         dx + r * in + c, in);
  });
}

template <class T>
void linear_backward_weight(const T* dy, const T* x, int64_t rows, int64_t in, int64_t out, T* dw) {
  for_each_tile(out, in, [&](int64_t o, int64_t tile_out, int64_t c, int64_t columns) {
    gemm(Op::kTransposed, Op::kPlain, tile_out, columns, rows, T(1), dy + o, out, x + c, in, T(1),
         dw + o * in + c, in);
  });
}

#define TEMPER_INSTANTIATE(T)                                                             \
  template void linear(const T*, const T*, int64_t, int64_t, int64_t, bool, T*);          \
  template void linear_backward_input(const T*, const T*, int64_t, int64_t, int64_t, T*); \
  template void linear_backward_weight(const T*, const T*, int64_t, int64_t, int64_t, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::cpu
