#pragma once
// Rows over threads. Results never depend on the number of threads.
//
// The thread pool has at::get_num_threads() threads. Every free thread, including the caller, takes the next task, and
// a thread that gets no CPU time is not waited for. OpenMP's regions wait for every thread: with compilers running
// beside it, a decode step took ten times as long.

#include <algorithm>
#include <cstdint>

namespace temper::policy::cpu {

constexpr int64_t kRowBlock = 32;

int64_t thread_count();

// task(context, i) once for each i in [0, n), in any order. A task's own tasks run on its thread.
void run_tasks(int64_t n, void (*task)(const void* context, int64_t i), const void* context);

// f(i) once for each i in [0, n).
template <class F>
void parallel_tasks(int64_t n, const F& f) {
  run_tasks(n, [](const void* context, int64_t i) { (*static_cast<const F*>(context))(i); }, &f);
}

// f(begin, end) for consecutive blocks of at most kRowBlock rows.
template <class F>
void parallel_rows(int64_t rows, const F& f) {
  parallel_tasks((rows + kRowBlock - 1) / kRowBlock,
                 [&](int64_t block) { f(block * kRowBlock, std::min(rows, (block + 1) * kRowBlock)); });
}

// Calls f(first row, rows) for consecutive tiles of a few dozen rows, each but the last a multiple of kRowBlock. If f
// runs several ops, a tile stays in one core's cache from op to op.
template <class F>
void parallel_tiles(int64_t rows, const F& f) {
  constexpr int64_t kMostBlocks = 3;
  const int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
  const int64_t tile = kRowBlock * std::clamp<int64_t>(blocks / (4 * thread_count()), 1, kMostBlocks);
  parallel_tasks((rows + tile - 1) / tile, [&](int64_t i) { f(i * tile, std::min(tile, rows - i * tile)); });
}

}  // namespace temper::policy::cpu
