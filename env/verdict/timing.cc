#include "env/verdict/timing.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace temper::env {
namespace {

constexpr double kFloorShare = 0.5, kGpuFloorShare = 0.9;

// The largest k with 2 · P(W < k) ≤ 0.05, W the sum of the ranks 1 … n that a fair coin picks; 0 if none.
// Where n is large W is as good as normal, and counting its ways takes long.
size_t signed_rank(size_t n) {
  constexpr size_t kCounted = 64;
  constexpr double kTail = 1.959964;  // of the normal distribution, 2.5 % above it
  if (n > kCounted) {
    const double size = double(n), mean = size * (size + 1) / 4;
    return size_t(mean + 0.5 - kTail * std::sqrt(mean * (2 * size + 1) / 6));
  }
  std::vector<double> ways{1};  // to come to each sum, of 2^n
  for (size_t rank = 1; rank <= n; ++rank) {
    ways.resize(ways.size() + rank, 0);
    for (size_t total = ways.size(); total-- > rank;) ways[total] += ways[total - rank];
  }
  const double all = std::pow(2.0, double(n));
  double below = 0;
  size_t k = 0;
  while (k < ways.size() && 2 * (below + ways[k]) <= 0.05 * all) below += ways[k++];
  return k;
}

double middle_of(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// Seconds of the fastest of some runs.
template <class Work>
double best_seconds(Work work) {
  double best = 1e9;
  for (int run = 0; run < 20; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double>(end - begin).count());
  }
  return best;
}

// Compiled for each generation of processors, of which the loader takes the best that is there: a roof that
// was measured with narrow vectors would lie below what candidates reach, which are compiled for this machine.
// The loader chooses before the thread sanitizer has begun, and must not run what that has instrumented.
#if defined(__SANITIZE_THREAD__)
#define TEMPER_WIDEST
#else
#define TEMPER_WIDEST __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#endif

TEMPER_WIDEST void copy_plus_one(const float* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i] + 1;
}

// Independent chains of multiply-adds, enough of them to hide the latency at any vector width.
constexpr int kLanes = 192, kRounds = 2000;
TEMPER_WIDEST void multiply_add(float* lanes, float factor) {
  float sums[kLanes];
  std::copy_n(lanes, kLanes, sums);
  for (int round = 0; round < kRounds; ++round)
    for (float& sum : sums) sum = sum * factor + 1.0f;
  std::copy_n(sums, kLanes, lanes);
}

// The better of the library's copy and a loop: on Zen 3 the first may be twenty times slower, by where the
// buffers lie.
double copy_bytes_per_s() {
  constexpr size_t kCount = 16 << 10;
  constexpr int kCopies = 16;
  std::vector<float> from(kCount, 1), to(kCount, 0);
  const auto seconds = [&](auto copy) {
    return best_seconds([&] {
      for (int i = 0; i < kCopies; ++i) {
        copy(from.data(), to.data());
        asm volatile("" : : "r"(to.data()) : "memory");
      }
    });
  };
  const double copied = seconds([](const float* a, float* b) { std::memcpy(b, a, kCount * sizeof(float)); });
  const double computed = seconds([](const float* a, float* b) { copy_plus_one(a, b, kCount); });
  return 2.0 * kCopies * kCount * sizeof(float) / std::min(copied, computed);
}

double fma_flops_per_s() {
  alignas(64) float sums[kLanes] = {};
  const double seconds = best_seconds([&] {
    multiply_add(sums, 0.5f);
    asm volatile("" : : "r"(sums) : "memory");
  });
  return 2.0 * kLanes * kRounds / seconds;
}

int usable_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return CPU_SETSIZE;
  return CPU_COUNT(&cores);
}

}  // namespace

double median(std::vector<double> values) {
  TEMPER_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return middle_of(values);
}

Interval center_interval(const std::vector<double>& values) {
  TEMPER_CHECK(!values.empty());
  std::vector<double> means;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t j = 0; j <= i; ++j) means.push_back(std::sqrt(values[i] * values[j]));
  std::sort(means.begin(), means.end());
  const size_t k = std::max<size_t>(signed_rank(values.size()), 1);
  return {middle_of(means), means[k - 1], means[means.size() - k]};
}

double lower_quartile(std::vector<double> values) {
  TEMPER_CHECK(!values.empty());
  const auto at = values.begin() + std::ptrdiff_t(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double spread(std::vector<double> values) {
  const double middle = median(values);
  std::sort(values.begin(), values.end());
  const size_t last = values.size() - 1;
  return (values[last - last / 4] - values[last / 4]) / (2 * middle);
}

bool enough_pairs(const std::vector<double>& ratios, int64_t min_pairs, int64_t max_pairs, double tight) {
  const auto pairs = int64_t(ratios.size());
  if (pairs >= max_pairs) return true;
  if (pairs < min_pairs || ratios.empty()) return false;
  const Interval speedup = center_interval(ratios);
  return speedup.high < 1 || speedup.high - speedup.low <= tight * speedup.center;
}

Roofs measure_roofs() {
  const double cores = usable_cores();
  return {copy_bytes_per_s() * cores, fma_flops_per_s() * cores};
}

Roofs higher(const Roofs& a, const Roofs& b) {
  return {std::max(a.bytes_per_s, b.bytes_per_s), std::max(a.flops_per_s, b.flops_per_s)};
}

double roof_us(double bytes, double flops, const Roofs& roofs) {
  return 1e6 * std::max(bytes / roofs.bytes_per_s, flops / roofs.flops_per_s);
}

double floor_us(double bytes, double flops, const Roofs& roofs) {
  return kFloorShare * roof_us(bytes, flops, roofs);
}

double gpu_floor_us(double roof_us) { return std::max(kEmptyKernel_us, kGpuFloorShare * roof_us); }

}  // namespace temper::env
