// Every collective on every rank, checked, and gradients that are summed by them; prints "ok RANK SIZE LOCAL_RANK LOCAL_SIZE". With the word cuda
// the tensors lie on the GPU of the local rank; with calls WORD… it makes those calls instead (calls.h), and
// with cost it says what their digest costs. Started by tests/ranks_test.py, ranks_calls_test.py and ranks_gpu_test.py.

#include <ATen/ATen.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "policy/ranks/communicator.h"
#include "tests/ranks/calls.h"
#include "tests/ranks/shares.h"

namespace temper::policy {
namespace {

// Number i of rank r: exact in every dtype, also when summed.
double value(int rank, int64_t i) { return double((rank + 1) * (i % 7 - 3)); }

at::Device g_device = at::kCPU;

at::Tensor values_of(int rank, int64_t count, at::ScalarType dtype) {
  at::Tensor values = at::empty({count}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) values.data_ptr<double>()[i] = value(rank, i);
  return values.to(g_device, dtype);
}

at::Tensor sum_of_all(int size, int64_t count, at::ScalarType dtype) {
  at::Tensor sum = values_of(0, count, at::kDouble);
  for (int rank = 1; rank < size; ++rank) sum += values_of(rank, count, at::kDouble);
  return sum.to(dtype);
}

void expect(const at::Tensor& got, const at::Tensor& wanted, const char* what) {
  if (!at::equal(got, wanted))
    throw WorldError("{} of {} numbers of {}: wrong", what, got.numel(), toString(got.scalar_type()));
}

void check_tensors(Communicator& ranks, at::ScalarType dtype, int64_t share) {
  const int64_t whole = share * ranks.size(), begin = share * ranks.rank();
  at::Tensor sum = values_of(ranks.rank(), whole, dtype);
  ranks.all_reduce(sum, "all-reduce");
  expect(sum, sum_of_all(ranks.size(), whole, dtype), "all-reduce");

  at::Tensor all = values_of(ranks.rank(), whole, dtype);
  expect(ranks.reduce_scatter(all, "reduce-scatter"),
         sum_of_all(ranks.size(), whole, dtype).narrow(0, begin, share), "reduce-scatter");

  all = values_of(ranks.rank(), whole, dtype);
  at::Tensor apart = at::zeros({share}, all.options());
  ranks.start_reduce_scatter(all, apart, "reduce-scatter elsewhere").wait_on_stream();
  expect(apart, sum_of_all(ranks.size(), whole, dtype).narrow(0, begin, share), "reduce-scatter elsewhere");

  at::Tensor gathered = at::zeros({whole}, all.options());
  gathered.narrow(0, begin, share).copy_(values_of(9, whole, dtype).narrow(0, begin, share));
  ranks.all_gather(gathered, "all-gather");
  expect(gathered, values_of(9, whole, dtype), "all-gather");

  for (int root = 0; root < ranks.size(); ++root) {
    at::Tensor sent = values_of(ranks.rank(), whole, dtype);
    ranks.broadcast(sent, root, "broadcast");
    expect(sent, values_of(root, whole, dtype), "broadcast");
  }
}

// Calls that are started before others have been waited for, on buffers that the present stream fills and reads.
void check_started(Communicator& ranks, int64_t share) {
  const int64_t whole = share * ranks.size(), begin = share * ranks.rank();
  constexpr int kCalls = 24;
  std::vector<at::Tensor> summed, gathered;
  std::vector<Handle> sums, gathers;
  for (int call = 0; call < kCalls; ++call) {
    summed.push_back(values_of(ranks.rank(), whole, at::kFloat) * call);
    sums.push_back(ranks.start_reduce_scatter(summed.back(), "started sum"));
    gathered.push_back(at::zeros({whole}, summed.back().options()));
    ranks.share_of(gathered.back()).fill_(call + ranks.rank());
    gathers.push_back(ranks.start_all_gather(gathered.back(), "started gather"));
  }
  const at::Tensor sum = sum_of_all(ranks.size(), whole, at::kFloat).narrow(0, begin, share);
  for (int call = kCalls; call-- > 0;) {  // the last one first
    call % 2 == 0 ? sums[size_t(call)].wait_on_host() : sums[size_t(call)].wait_on_stream();
    expect(ranks.share_of(summed[size_t(call)]), sum * call, "started reduce-scatter");
    gathers[size_t(call)].wait_on_stream();
    const at::Tensor wanted = at::arange(ranks.size(), gathered.back().options()) + call;
    expect(gathered[size_t(call)], wanted.repeat_interleave(share), "started all-gather");
  }
}

void check_texts(Communicator& ranks) {
  const auto text = [](int rank) { return std::string(size_t(rank * 1000), char('a' + rank)) + '\0'; };
  const auto texts = ranks.all_gather(text(ranks.rank()), "texts");
  for (int rank = 0; rank < ranks.size(); ++rank)
    if (texts.at(size_t(rank)) != text(rank)) throw WorldError("the text of rank {} is wrong", rank);
  if (ranks.broadcast(text(ranks.rank()), ranks.size() - 1, "text") != text(ranks.size() - 1))
    throw WorldError("a broadcast text is wrong");
  if (ranks.sum(0.5 + ranks.rank(), "sum") != 0.5 * ranks.size() * ranks.size())
    throw WorldError("a sum is wrong");
  if (!ranks.any(ranks.rank() == ranks.size() - 1, "any") || ranks.any(false, "none"))
    throw WorldError("any is wrong");
}

int run_collectives(bool gpu) {
  Communicator ranks(find_rank_place(), 20);
  if (gpu) {
    cuda::use_gpu(ranks.local_rank());
    ranks.use_gpus();
    g_device = at::Device(at::kCUDA, at::DeviceIndex(ranks.local_rank()));
  }
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16})
    for (const int64_t share : {1, 7, 4096, 300'001}) check_tensors(ranks, dtype, share);
  for (const int64_t share : {5, 100'000}) check_started(ranks, share);
  check_texts(ranks);
  check_shares(ranks, g_device);
  ranks.same_calls("end");
  fmt::print("ok {} {} {} {}\n", ranks.rank(), ranks.size(), ranks.local_rank(), ranks.local_size());
  return 0;
}

int run(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words.front();
  if (what == "calls") return make_calls({words.begin() + 1, words.end()});
  if (what == "cost") return print_cost_of_calls();
  return run_collectives(what == "cuda");
}

}  // namespace
}  // namespace temper::policy

int main(int argc, char** argv) {
  try {
    return temper::policy::run({argv + 1, argv + argc});
  } catch (const temper::ConfigError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  } catch (const temper::policy::SaidElsewhere& e) {
    return e.exit_code;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 3;
  }
}
