#pragma once
// Rows over the threads of libtorch's pool. Results never depend on the number of threads.

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace temper::cpu {

constexpr int64_t kRowBlock = 32;

// f(i) once for each i in [0, n), in any order; whoever is free takes the next.
template <class F>
void parallel_tasks(int64_t n, const F& f) {
  if (n <= 1) {
    if (n == 1) f(int64_t{0});
    return;
  }
  std::atomic<int64_t> next{0};
  const int64_t threads = std::min<int64_t>(at::get_num_threads(), n);
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) f(i);
  });
}

// f(begin, end) for consecutive blocks of at most kRowBlock rows.
template <class F>
void parallel_rows(int64_t rows, const F& f) {
  parallel_tasks((rows + kRowBlock - 1) / kRowBlock,
                 [&](int64_t block) { f(block * kRowBlock, std::min(rows, (block + 1) * kRowBlock)); });
}

}  // namespace temper::cpu
