#include "tests/ranks/calls.h"

#include <ATen/ATen.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "policy/parameters/replicas.h"
#include "policy/ranks/communicator.h"
#include "policy/ranks/started_calls.h"
#include "policy/ranks/watch.h"

namespace temper::policy {
namespace {

constexpr WatchOptions kWatch = {.silence_s = 20, .timeout_s = 10};
constexpr double kCallDeadlines = 20;

struct Word {
  std::string kind, name;
  int64_t number = 0;
};

Word word_of(const std::string& text) {
  std::istringstream parts(text);
  Word word;
  std::string number;
  std::getline(parts, word.kind, ':');
  std::getline(parts, word.name, ':');
  std::getline(parts, number);
  if (!number.empty()) word.number = std::stoll(number);
  return word;
}

// A call that a device runs until a clock says that it is done.
class TimedCall : public StartedCall {
 public:
  explicit TimedCall(double seconds) : end_s_(now_s() + seconds) {}
  State state() override {
    if (given_up_) throw LostRanks("it was given up");
    return now_s() < end_s_ ? State::kRunning : State::kDone;
  }
  void wait_on_stream() override {}
  void give_up() override { given_up_ = true; }

 private:
  const double end_s_;
  std::atomic<bool> given_up_ = false;
};

void start_on_device(const char* name, int64_t ms, double deadline_s) {
  static StartedCalls calls;
  calls.add(std::make_shared<TimedCall>(double(ms) * 1e-3), "all-gather", name, deadline_s);
}

void make(Communicator& ranks, const Word& word) {
  const char* name = lasting_name(word.name);
  const int64_t n = word.number;
  if (word.kind == "sum") ranks.sum(1, name);
  if (word.kind == "note") ranks.note(name, uint64_t(n));
  if (word.kind == "text") ranks.all_gather(std::string(size_t(n), 'a'), name);
  if (word.kind == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(std::stoll(word.name)));
  if (word.kind == "throw") throw WorldError("{}", word.name);
  if (word.kind == "device") start_on_device(name, n, kCallDeadlines * kWatch.timeout_s);
  if (word.kind == "doomed") start_on_device(name, n, 2);
  at::Tensor whole = at::ones({n * ranks.size()}, at::kFloat);
  if (word.kind == "gather") ranks.all_gather(whole, name);
  if (word.kind == "scatter") ranks.reduce_scatter(whole, name);
}

}  // namespace

int make_calls(const std::vector<std::string>& words) {
  Communicator ranks(find_rank_place(), 20);
  Watch watch(ranks, kWatch, 20);
  ranks.set_deadline(kCallDeadlines * kWatch.timeout_s);
  try {
    for (const std::string& word : words)
      if (word != "leave") make(ranks, word_of(word));
    if (words.empty() || words.back() != "leave") ranks.same_calls("end");
    watch.leave();
  } catch (const LostRanks& e) {
    watch.fail(3, e.what(), true);
  } catch (const std::exception& e) {
    watch.fail(3, e.what());
  }
  fmt::print("ok {} {} {} {}\n", ranks.rank(), ranks.size(), ranks.local_rank(), ranks.local_size());
  return 0;
}

int print_cost_of_calls() {
  constexpr int kCalls = 1'000'000, kSums = 20'000;
  constexpr int64_t kWeights = 64 << 20;
  Communicator ranks(find_rank_place(), 20);
  CallTrace trace;
  const auto seconds_of = [](const auto& f) {
    const double start = now_s();
    f();
    return now_s() - start;
  };
  const double call_ns = 1e9 / kCalls * seconds_of([&] {
                           for (int i = 0; i < kCalls; ++i)
                             trace.add("reduce-scatter", "gradients of model.layers.17", 1 << 20, "f32");
                         });
  const double sum_ns = 1e9 / kSums * seconds_of([&] {
                          for (int i = 0; i < kSums; ++i) ranks.sum(1, "gradient norm");
                        });
  const at::Tensor weights = at::ones({kWeights}, at::kFloat);
  const double digest_s = seconds_of([&] { word_digest(weights); });
  if (ranks.rank() > 0) return 0;
  fmt::print(
      "a call in the digest: {:.0f} ns, {:.2f} % of the smallest all-reduce over {} ranks ({:.0f} ns)\n",
      call_ns, 100 * call_ns / sum_ns, ranks.size(), sum_ns);
  fmt::print("weights: a digest of {:.1f} GB/s\n", double(weights.nbytes()) / digest_s / 1e9);
  return 0;
}

}  // namespace temper::policy
