#include "policy/ops/cpu/parallel.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace temper::policy::cpu {
namespace {

constexpr int kSpins =
    2000;  // looks for the next job before sleeping, about 50 µs: jobs follow each other closely

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Pool {
 public:
  explicit Pool(int64_t threads) {
    for (int64_t i = 1; i < threads; ++i) helpers_.emplace_back([this] { help(); });
  }
  ~Pool() {
    stopping_ = true;
    ++epoch_;
    epoch_.notify_all();
    for (auto& helper : helpers_) helper.join();
  }
  int64_t threads() const { return int64_t(helpers_.size()) + 1; }

  void run(int64_t n, void (*task)(const void*, int64_t), const void* context) {
    const std::unique_lock busy(mutex_, std::try_to_lock);
    if (!busy || n <= 1 || helpers_.empty()) {
      for (int64_t i = 0; i < n; ++i) task(context, i);
      return;
    }
    n_ = n;
    task_ = task;
    context_ = context;
    next_ = 0;
    ++epoch_;  // odd: open
    epoch_.notify_all();
    take_tasks();
    ++epoch_;  // whoever joins from here on touches nothing
    while (active_ != 0) pause();
  }

 private:
  void take_tasks() {
    for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < n_;) task_(context_, i);
  }

  void help() {
    for (uint64_t seen = 0; !stopping_;) {
      for (int i = 0; i < kSpins && epoch_ == seen; ++i) pause();
      epoch_.wait(seen);
      ++active_;
      seen = epoch_;
      if (seen % 2 == 1) take_tasks();
      --active_;
    }
  }

  std::vector<std::thread> helpers_;
  std::mutex mutex_;  // one job at a time; a second caller works alone
  std::atomic<uint64_t> epoch_{0};
  std::atomic<int64_t> active_{0}, next_{0};
  std::atomic<bool> stopping_{false};
  int64_t n_ = 0;
  void (*task_)(const void*, int64_t) = nullptr;
  const void* context_ = nullptr;
};

Pool& pool() {
  static Pool the_pool(at::get_num_threads());
  return the_pool;
}

}  // namespace

int64_t thread_count() { return pool().threads(); }

void run_tasks(int64_t n, void (*task)(const void* context, int64_t i), const void* context) {
  if (n <= 0) return;
  static thread_local bool inside = false;
  if (inside) {
    for (int64_t i = 0; i < n; ++i) task(context, i);
    return;
  }
  inside = true;
  pool().run(n, task, context);
  inside = false;
}

}  // namespace temper::policy::cpu
