#include <cstring>

#include "policy/ops/cpu/embedding.h"
#include "policy/ops/cpu/parallel.h"

namespace temper::policy::cpu {

template <class T>
void embedding(const T* table, const int32_t* ids, int64_t rows, int64_t width, T* y) {
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      std::memcpy(y + r * width, table + ids[r] * width, sizeof(T) * size_t(width));
  });
}

template <class T>
void embedding_backward(const T* dy, const int32_t* ids, int64_t rows, int64_t width, T* d_table) {
  const int64_t owners = thread_count();  // each owns every owners-th row of the table
  parallel_tasks(owners, [&](int64_t owner) {
    for (int64_t r = 0; r < rows; ++r) {
      if (ids[r] % owners != owner) continue;
      T* row = d_table + ids[r] * width;
      for (int64_t i = 0; i < width; ++i) row[i] += dy[r * width + i];
    }
  });
}

#define TEMPER_INSTANTIATE(T)                                              \
  template void embedding(const T*, const int32_t*, int64_t, int64_t, T*); \
  template void embedding_backward(const T*, const int32_t*, int64_t, int64_t, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
