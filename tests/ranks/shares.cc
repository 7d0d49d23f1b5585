#include "tests/ranks/shares.h"

#include <ATen/ATen.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "policy/parameters/flat.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/replicas.h"
#include "tests/policy/updates.h"

namespace temper::policy {
namespace {

constexpr int kMicroBatches = 3;
constexpr int kUpdates[] = {2, 1};  // of each time that weights are sharded
constexpr float kMoved = 1.01f;     // no number of bf16 times this is one

// On a GPU large enough that sums take time, so that whoever does not wait for one is found out.
ModelConfig shape(bool gpu, bool tied) {
  ModelConfig c;
  c.vocab_size = gpu ? 32'000 : 50;
  c.hidden_size = gpu ? 1024 : 24;
  c.intermediate_size = gpu ? 3072 : 40;
  c.num_hidden_layers = 5;
  c.num_attention_heads = 2;
  c.num_key_value_heads = 1;
  c.head_dim = 16;
  c.tie_word_embeddings = tied;
  return c;
}

// What a rank adds to the gradient of `size` numbers. Sums of the exact ones are exact, others are rounded.
at::Tensor added(bool exact, int rank, int micro, int64_t size, at::TensorOptions options) {
  const at::Tensor i = at::arange(size, options);
  if (exact) return (i.remainder(7) - 3) * (rank + 1) + i.remainder(5) * micro;
  return at::sin(i.remainder(1009) * (rank + 1) + micro);
}

// Weights are read as a decoder reads them, on the stream that computes.
class Reading {
 public:
  explicit Reading(ParameterStore& store) : store_(store) {}

  void read(size_t unit, Pass pass) {
    store_.wait_for_weights(unit, pass);
    seen_.push_back({unit, store_.unit_weights(unit).clone()});
  }
  void forward() {
    for (size_t unit = 0; unit < store_.units().size(); ++unit) read(unit, Pass::kForward);
  }
  // Throws where what was read since the last call is not `right`, parameter by parameter.
  void expect(const std::vector<at::Tensor>& right, const char* what) {
    for (const auto& [unit, weights] : std::exchange(seen_, {}))
      for (size_t i = 0; i < right.size(); ++i)
        if (const ParameterInfo& p = store_.parameters()[i]; p.unit == unit)
          if (!at::equal(weights.narrow(0, p.offset - store_.units()[unit].offset, p.size), right[i]))
            throw WorldError("{} was read as {} that it is not", p.name, what);
  }

 private:
  struct Seen {
    size_t unit;
    at::Tensor weights;
  };
  ParameterStore& store_;
  std::vector<Seen> seen_;
};

std::vector<at::Tensor> copy_of(const ParameterStore& store) {
  std::vector<at::Tensor> weights;
  for (const ParameterInfo& p : store.parameters())
    weights.push_back(store.weight(p.name).reshape(-1).clone());
  return weights;
}

// A store that gets gradients as a decoder gives them, and updates.
class Learning {
 public:
  // These of `all` ranks add their gradients here: one, or all where a single rank computes what they do together.
  Learning(ParameterStore& store, std::vector<int> ranks, int all, bool exact = true)
      : store_(store), reading_(store), ranks_(std::move(ranks)), all_(all), exact_(exact) {
    store_.init_random(3);
  }
  Reading& reading() { return reading_; }

  void sum_gradients() {
    for (int micro = 0; micro < kMicroBatches; ++micro) add_gradients(micro);
    store_.finish_gradients();
  }

  void update() {
    sum_gradients();
    update_parts(store_, store_.parts(), update_factors);
  }

  // The last of several ranks has a micro-batch less.
  bool has(int rank, int micro) const { return all_ == 1 || rank + 1 < all_ || micro + 1 < kMicroBatches; }

 private:
  // Where each gradient lies is asked before the first is added.
  void add_gradients(int micro) {
    if (ranks_.size() == 1 && !has(ranks_.front(), micro)) return store_.pass_without_tokens(true);
    std::vector<at::Tensor> gradients;
    for (const ParameterInfo& p : store_.parameters()) gradients.push_back(store_.gradient(p).view(-1));
    reading_.forward();
    for (size_t unit = store_.units().size(); unit-- > 0;) {
      if (unit + 1 < store_.units().size()) reading_.read(unit, Pass::kBackward);
      const bool adds = begin(unit, micro);
      for (size_t i = 0; i < gradients.size(); ++i)
        if (const ParameterInfo& p = store_.parameters()[i]; p.unit == unit) {
          if (!adds) gradients[i].zero_();
          add(p, micro, gradients[i]);
        }
      store_.finish_unit(unit);
    }
  }

  // As a decoder that adds in any case begins in every other micro-batch, and one that need not in the others. Returns whether
  // there is something to add to.
  bool begin(size_t unit, int micro) {
    if (micro % 2 != 0) return store_.begin_unit(unit);
    store_.begin_unit_to_add(unit);
    return true;
  }

  void add(const ParameterInfo& p, int micro, const at::Tensor& to) {
    for (const int rank : ranks_)
      if (has(rank, micro)) to.add_(added(exact_, rank, micro, p.size, to.options()));
  }

  ParameterStore& store_;
  Reading reading_;
  std::vector<int> ranks_;
  int all_;
  bool exact_;
};

struct Case {
  bool tied;
  int64_t zero_stage, shard_degree;
  bool offload = false;
};

// The policy scores with other weights than its own, on all ranks but the last, and with its own again. It learns with
// these.
void score(ParameterStore& store, Reading& reading, at::Tensor& reference, bool has_tokens,
           const std::vector<at::Tensor>& right, const std::vector<at::Tensor>& right_reference) {
  const auto pass = [&] { has_tokens ? reading.forward() : store.pass_without_tokens(false); };
  pass();
  reading.expect(right, "weights");
  store.swap_weights(reference);
  pass();
  reading.expect(right_reference, "weights of the reference");
  store.swap_weights(reference);
  pass();
  reading.expect(right, "weights behind the reference");
}

void check(Communicator& ranks, at::Device device, const Case& c) {
  const ModelConfig config = shape(device.is_cuda(), c.tied);
  const DType dtype = device.is_cuda() ? DType::kBF16 : DType::kF32;
  ParameterStore of_all(config, dtype, device, ranks, c.zero_stage, c.shard_degree, c.offload),
      of_one(config, dtype, device);
  std::vector<int> all(size_t(ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  Learning together(of_all, {ranks.rank()}, ranks.size()), single(of_one, all, ranks.size());
  const auto before = copy_of(of_one);
  at::Tensor reference = of_all.copy_for_learning(of_all.weights());
  for (const int updates : kUpdates) {
    of_all.shard_weights();
    if (of_all.sharded() != (c.zero_stage == 3 && c.shard_degree > 1))
      throw WorldError("ZeRO-{} of groups of {} did not shard as it should", c.zero_stage, c.shard_degree);
    for (int update = 0; update < updates; ++update) {
      const auto right = copy_of(of_one);
      score(of_all, together.reading(), reference, ranks.size() == 1 || ranks.rank() + 1 < ranks.size(),
            right, before);
      together.update(), single.update();
      together.reading().expect(right, "weights in an update");
      single.reading().expect(right, "weights of one rank");
    }
    check_replicas(of_all, "weights", &reference);
    of_all.unshard_weights();
  }
  check_replicas(of_all, "weights", &reference);
  for (const ParameterInfo& p : of_one.parameters())
    if (!at::equal(of_all.weight(p.name), of_one.weight(p.name)))
      throw WorldError("ZeRO-{}: {} of {} ranks in groups of {} is not what one computes", c.zero_stage,
                       p.name, ranks.size(), c.shard_degree);
}

// Wherever the ranks' groups end, a sum of n numbers in f32 is off by at most n · 2⁻²⁴ of the sum of their sizes.
// Source: Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2.
void check_bound(Communicator& ranks, at::Device device, const Case& c) {
  ParameterStore store(shape(device.is_cuda(), c.tied), device.is_cuda() ? DType::kBF16 : DType::kF32, device,
                       ranks, c.zero_stage, c.shard_degree);
  Learning learning(store, {ranks.rank()}, ranks.size(), false);
  store.shard_weights();
  learning.sum_gradients();
  for (const ParameterPart& p : store.parts()) {
    at::Tensor sum = at::zeros_like(p.gradients, at::kDouble), size = at::zeros_like(sum);
    for (int rank = 0; rank < ranks.size(); ++rank)
      for (int micro = 0; micro < kMicroBatches; ++micro) {
        if (!learning.has(rank, micro)) continue;
        const at::Tensor all = added(false, rank, micro, p.parameter.size, p.gradients.options());
        const at::Tensor mine = all.narrow(0, p.begin, p.gradients.numel()).to(at::kDouble);
        sum += mine, size += mine.abs();
      }
    const double share = 0x1p-24 * ranks.size() * kMicroBatches;
    if (at::any((p.gradients - sum).abs() > size * share).item<bool>())
      throw WorldError("ZeRO-{}: the gradient of {} of {} ranks in groups of {} is too far off", c.zero_stage,
                       p.parameter.name, ranks.size(), c.shard_degree);
  }
}

// Only GPUs learn in bf16, but the weights of any policy are sharded alike. Masters are made from either form, and what is
// gathered is rounded from them.
void check_bf16(Communicator& ranks, at::Device device, const Case& c) {
  const ModelConfig config = shape(device.is_cuda(), c.tied);
  ParameterStore store(config, DType::kBF16, device, ranks, c.zero_stage, c.shard_degree, c.offload);
  store.init_random(5);
  auto right = copy_of(store);
  Reading reading(store);
  store.shard_weights();
  reading.forward();
  reading.expect(right, "weights in bf16");
  for (const ParameterPart& p : store.parts()) {
    const at::Tensor own = right[size_t(&p.parameter - store.parameters().data())];
    if (!at::equal(p.master.cpu(), own.narrow(0, p.begin, p.master.numel()).to(at::kFloat).cpu()))
      throw WorldError("ZeRO-{}: {} of {} ranks in groups of {} has another master", c.zero_stage,
                       p.parameter.name, ranks.size(), c.shard_degree);
    p.master.mul_(kMoved);
    p.weights.copy_(p.master);
  }
  store.gather_weights();
  for (at::Tensor& weights : right) weights = weights.to(at::kFloat).mul(kMoved).to(at::kBFloat16);
  reading.forward();
  reading.expect(right, "weights rounded from their master");
  store.unshard_weights();
  const auto after = copy_of(store);
  for (size_t i = 0; i < right.size(); ++i)
    if (!at::equal(after[i], right[i]))
      throw WorldError("ZeRO-{}: {} of {} ranks in groups of {} came back otherwise", c.zero_stage,
                       store.parameters()[i].name, ranks.size(), c.shard_degree);
}

}  // namespace

void check_shares(Communicator& ranks, at::Device device) {
  for (const bool tied : {false, true})
    for (const int64_t zero_stage : {1, 2, 3})
      for (int64_t degree = 1; degree <= ranks.size(); ++degree)
        if (ranks.size() % degree == 0) {
          check(ranks, device, {tied, zero_stage, degree});
          check_bound(ranks, device, {tied, zero_stage, degree});
          check_bf16(ranks, device, {tied, zero_stage, degree});
          check(ranks, device, {tied, zero_stage, degree, true});
          check_bf16(ranks, device, {tied, zero_stage, degree, true});
          ranks.same_calls("end of a case");  // nobody leaves a group in which others still are
        }
}

}  // namespace temper::policy
