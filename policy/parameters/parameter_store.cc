#include "policy/parameters/parameter_store.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "policy/parameters/flat.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/flip_a_bit.h"

namespace temper::policy {
namespace {

constexpr int64_t kSmallGradientBytes = int64_t(1) << 30;

at::ScalarType scalar_type(DType dtype) {
  return dtype == DType::kF64 ? at::kDouble : dtype == DType::kBF16 ? at::kBFloat16 : at::kFloat;
}

// Lays parameters end to end. Queries, keys and values lie next to each other, and gate and up: one product
// covers them. Their biases lie likewise.
class Layout {
 public:
  explicit Layout(int64_t ranks) : multiple_(ranks > 1 ? kShareUnit * ranks : 1) {}
  // What follows belongs to a unit of its own.
  void begin_unit(std::string name) {
    end_unit();
    units_.push_back({end_, 0, std::move(name)});
  }
  void end_unit() {
    if (units_.empty()) return;
    ParameterUnit& unit = units_.back();
    unit.padding = (multiple_ - end_ % multiple_) % multiple_;
    end_ += unit.padding;
    unit.size = end_ - unit.offset;
  }
  // An output head that is not the embedding, in the unit that was begun last.
  void head(std::string name, int64_t rows, int64_t columns) {
    matrix(std::move(name), rows, columns);
    units_.back().has_head = true;
  }
  void matrix(std::string name, int64_t rows, int64_t columns) {
    add(std::move(name), {rows, columns}, true);
  }
  void norm(std::string name, int64_t width) { add(std::move(name), {width}, false); }
  void bias(std::string name, int64_t width) { add(std::move(name), {width}, false); }
  void attention(const std::string& prefix, const ModelConfig& c);
  void feed_forward(const std::string& prefix, const ModelConfig& c);
  void block(const std::string& prefix, const ModelConfig& c);
  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  const std::vector<ParameterUnit>& units() const { return units_; }

 private:
  void add(std::string name, std::vector<int64_t> shape, bool decays) {
    int64_t size = 1;
    for (int64_t n : shape) size *= n;
    parameters_.push_back({std::move(name), std::move(shape), end_, size, decays, units_.size() - 1});
    end_ += size;
  }
  static constexpr int64_t kShareUnit = 64;  // elements: shares are aligned as GPUs read them

  const int64_t multiple_;
  std::vector<ParameterInfo> parameters_;
  std::vector<ParameterUnit> units_;
  int64_t end_ = 0;
};

void Layout::attention(const std::string& prefix, const ModelConfig& c) {
  const int64_t d = c.hidden_size, q = c.num_attention_heads * c.head_dim,
                kv = c.num_key_value_heads * c.head_dim;
  matrix(prefix + "q_proj.weight", q, d);
  matrix(prefix + "k_proj.weight", kv, d);
  matrix(prefix + "v_proj.weight", kv, d);
  if (c.qkv_bias) {
    bias(prefix + "q_proj.bias", q);
    bias(prefix + "k_proj.bias", kv);
    bias(prefix + "v_proj.bias", kv);
  }
  if (c.qk_norm) {
    norm(prefix + "q_norm.weight", c.head_dim);
    norm(prefix + "k_norm.weight", c.head_dim);
  }
  matrix(prefix + "o_proj.weight", d, q);
  if (c.o_bias) bias(prefix + "o_proj.bias", d);
}

void Layout::feed_forward(const std::string& prefix, const ModelConfig& c) {
  const int64_t d = c.hidden_size, f = c.intermediate_size;
  matrix(prefix + "gate_proj.weight", f, d);
  matrix(prefix + "up_proj.weight", f, d);
  if (c.mlp_bias) {
    bias(prefix + "gate_proj.bias", f);
    bias(prefix + "up_proj.bias", f);
  }
  matrix(prefix + "down_proj.weight", d, f);
  if (c.mlp_bias) bias(prefix + "down_proj.bias", d);
}

void Layout::block(const std::string& prefix, const ModelConfig& c) {
  norm(prefix + "input_layernorm.weight", c.hidden_size);
  attention(prefix + "self_attn.", c);
  norm(prefix + "post_attention_layernorm.weight", c.hidden_size);
  feed_forward(prefix + "mlp.", c);
}

Layout lay_out_parameters(const ModelConfig& c, int64_t ranks) {
  Layout layout(ranks);
  layout.begin_unit("model.embed_tokens");
  layout.matrix("model.embed_tokens.weight", c.vocab_size, c.hidden_size);
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) {
    layout.begin_unit(fmt::format("model.layers.{}", i));
    layout.block(fmt::format("model.layers.{}.", i), c);
  }
  layout.begin_unit(c.tie_word_embeddings ? "model.norm" : "model.norm and lm_head");
  layout.norm("model.norm.weight", c.hidden_size);
  if (!c.tie_word_embeddings) layout.head("lm_head.weight", c.vocab_size, c.hidden_size);
  layout.end_unit();
  return layout;
}

bool is_residual_projection(const std::string& name) {
  return name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
}

const ParameterInfo& find(const std::vector<ParameterInfo>& parameters, const std::string& name) {
  for (const auto& p : parameters)
    if (p.name == name) return p;
  TEMPER_CHECK(false, "no parameter '{}'", name);
}

uint64_t next_placement() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

std::vector<ParameterInfo> parameters_of(const ModelConfig& config) {
  return lay_out_parameters(config, 1).parameters();
}

std::vector<ParameterUnit> units_of(const ModelConfig& config, int64_t ranks) {
  return lay_out_parameters(config, ranks).units();
}

int64_t zero_stage_for(const ModelConfig& config, int64_t given) {
  if (given != 0) return given;
  return config.parameter_count() * int64_t(sizeof(float)) <= kSmallGradientBytes ? 1 : 2;
}

ParameterStore::ParameterStore(const ModelConfig& config, DType dtype, at::Device device, Communicator& ranks,
                               int64_t zero_stage, int64_t shard_degree, bool offload_optimizer)
    : groups_(ranks, shard_degree),
      options_(at::TensorOptions().dtype(scalar_type(dtype)).device(device)),
      type_(scalar_type(dtype)),
      zero_stage_(zero_stage_for(config, zero_stage)),
      offload_optimizer_(offload_optimizer),
      placement_(next_placement()) {
  const Layout layout = lay_out_parameters(config, shard().size());
  parameters_ = layout.parameters();
  units_ = layout.units();
  int64_t named = 0;
  for (const auto& p : parameters_) named += p.size;
  TEMPER_CHECK_EQ(named, config.parameter_count());
  weights_ = allocate_zeros(size(), options_);
  for (const ParameterUnit& unit : units_) {
    gather_names_.push_back(lasting_name("weights of " + unit.name));
    replica_names_.push_back(lasting_name("gradients of " + unit.name + " over replicas"));
  }
  gathers_.resize(units_.size());
  begun_.resize(units_.size());
}

const at::Tensor& ParameterStore::weights() const {
  TEMPER_CHECK(!sharded(), "the weights are sharded");
  wait_for_weights();
  return weights_;
}

void ParameterStore::wait_for_weights() const {
  for (Handle& gather : gathers_) gather.wait_on_stream();
}

void ParameterStore::wait_for_weights(size_t unit, Pass pass) {
  if (gathered_)
    gathered_->wait(unit, pass, held());
  else
    gathers_[unit].wait_on_stream();
}

at::Tensor ParameterStore::unit_weights(size_t unit) const {
  return gathered_ ? gathered_->of(unit) : weights_.narrow(0, units_[unit].offset, units_[unit].size);
}

at::Tensor ParameterStore::copy_for_learning(const at::Tensor& whole) const {
  if (!shards_weights()) return whole.clone();
  at::Tensor share = allocate_zeros(share_size(), options_);
  for (size_t unit = 0; unit < units_.size(); ++unit)
    copy_bytes(share_of(unit, share), share_of(unit, whole));
  return share;
}

// Master weights in the host's memory would have to come to the device for each gather.
bool ParameterStore::rounds_from_master() const { return type_ == at::kBFloat16 && !offload_optimizer_; }

// The memory of the whole weights goes back to the device before anything else is put there: a piece of it that is in
// use would keep it from being allocated in one piece again.
void ParameterStore::shard_weights() {
  if (!shards_weights() || sharded()) return;
  if (rounds_from_master())
    master();
  else
    share_ = copy_for_learning(weights());
  weights_ = at::Tensor();
  give_back_unused(options_.device());
  gathered_.emplace(units_, shard(), options_);
  placement_ = next_placement();
}

void ParameterStore::release_unsummed() {
  unsummed_.reset();
  give_back_unused(options_.device());
}

// No gradient waits to be summed between updates.
void ParameterStore::unshard_weights() {
  if (!sharded()) return;
  const at::Tensor kept = held();
  gathered_.reset();
  release_unsummed();
  weights_ = allocate_zeros(size(), options_);
  for (size_t unit = 0; unit < units_.size(); ++unit)
    copy_in_pieces(share_of(unit, weights_), share_of(unit, kept));
  share_ = at::Tensor();
  placement_ = next_placement();
  gather_weights();
}

const at::Tensor& ParameterStore::held() const {
  if (!sharded()) return weights();
  return share_.defined() ? share_ : master_;
}

void ParameterStore::swap_weights(at::Tensor& weights) noexcept {
  std::swap(sharded() ? share_ : weights_, weights);
  if (gathered_) gathered_->forget();
  placement_ = next_placement();
}

at::TensorOptions ParameterStore::state_options() const {
  return options_.dtype(type_ == at::kDouble ? at::kDouble : at::kFloat);
}

at::Tensor& ParameterStore::share_once(at::Tensor& tensor, bool on_host) {
  if (!tensor.defined())
    tensor = on_host ? allocate_host_zeros(share_size(), state_options())
                     : allocate_zeros(share_size(), state_options());
  return tensor;
}

at::Tensor& ParameterStore::gradients() { return share_once(gradients_); }
at::Tensor& ParameterStore::moment1() { return share_once(moment1_, offload_optimizer_); }
at::Tensor& ParameterStore::moment2() { return share_once(moment2_, offload_optimizer_); }

// This rank's part of a unit.
at::Tensor ParameterStore::share_of(size_t unit, const at::Tensor& flat) const {
  const int64_t part = units_[unit].size / shard().size();
  return flat.numel() == size() ? flat.narrow(0, units_[unit].offset + shard().rank() * part, part)
                                : flat.narrow(0, units_[unit].offset / shard().size(), part);
}

// Flat as the weights where it is them, else this rank's share.
const at::Tensor& ParameterStore::master() {
  if (type_ != at::kBFloat16) return held();
  if (master_.defined()) return master_;
  share_once(master_, offload_optimizer_);
  for (size_t unit = 0; unit < units_.size(); ++unit)
    copy_in_pieces(share_of(unit, master_), share_of(unit, held()));
  return master_;
}

// What of each parameter lies in this rank's share.
std::vector<ParameterStore::Stretch> ParameterStore::own_stretches() const {
  std::vector<Stretch> stretches;
  for (const ParameterInfo& p : parameters_) {
    const ParameterUnit& unit = units_[p.unit];
    const int64_t share = unit.size / shard().size(), first = unit.offset + shard().rank() * share;
    const int64_t begin = std::max(p.offset, first), end = std::min(p.offset + p.size, first + share);
    if (begin < end) stretches.push_back({p, begin, end});
  }
  return stretches;
}

std::vector<ParameterPart> ParameterStore::parts() {
  wait_for_weights();
  std::vector<ParameterPart> parts;
  for (const auto& [p, begin, end] : own_stretches()) {
    const ParameterUnit& unit = units_[p.unit];
    const int64_t first = unit.offset + shard().rank() * (unit.size / shard().size());
    const auto part = [&, u = p.unit, from = begin - first, size = end - begin](const at::Tensor& flat) {
      return share_of(u, flat).narrow(0, from, size);
    };
    parts.push_back({p, begin - p.offset, part(master()), part(held()), part(gradients()), part(moment1()),
                     part(moment2())});
  }
  return parts;
}

std::vector<WeightPart> ParameterStore::own_weights() const {
  std::vector<WeightPart> parts;
  for (const auto& [p, begin, end] : own_stretches())
    parts.push_back({p, begin - p.offset, weights().narrow(0, begin, end - begin)});
  return parts;
}

void ParameterStore::gather_weights() {
  for (size_t unit = 0; unit < units_.size(); ++unit) gather_weights(unit);
}

void ParameterStore::gather_weights(size_t unit) {
  if (shard().size() == 1) return;
  if (gathered_) return gathered_->forget(unit);
  at::Tensor whole = weights_.narrow(0, units_[unit].offset, units_[unit].size);
  gathers_[unit] = shard().start_all_gather(whole, gather_names_[unit]);
  if (unit + 1 == units_.size() && fail_if_asked("gathered") == "flip") flip_a_bit(weights());
}

at::Tensor ParameterStore::weight(const std::string& name) const {
  const ParameterInfo& p = find(parameters_, name);
  return weights().narrow(0, p.offset, p.size).view(p.shape);
}

at::Tensor ParameterStore::gradient(const std::string& name) { return gradient(find(parameters_, name)); }

at::Tensor ParameterStore::gradient(const ParameterInfo& p) {
  if (shard().size() == 1) return gradients().narrow(0, p.offset, p.size).view(p.shape);
  unsummed().finish_sums();
  return unsummed().of(p.unit).narrow(0, p.offset - units_[p.unit].offset, p.size).view(p.shape);
}

UnsummedGradients& ParameterStore::unsummed() {
  if (!unsummed_) unsummed_.emplace(units_, zero_stage_, shard(), gradients());
  return *unsummed_;
}

bool ParameterStore::begin_unit(size_t unit) {
  if (shard().size() > 1) return unsummed().begin(unit);
  const bool begun = begun_[unit];
  begun_[unit] = true;
  return begun;
}

// A single rank's gradients are zero between updates.
void ParameterStore::begin_unit_to_add(size_t unit) {
  if (!begin_unit(unit) && shard().size() > 1) clear(unsummed().of(unit));
}

void ParameterStore::finish_unit(size_t unit) {
  if (shard().size() > 1 && zero_stage_ > 1) unsummed().start_sum(unit);
}

void ParameterStore::pass_without_tokens(bool backward) {
  for (size_t unit = 0; unit < units_.size(); ++unit) wait_for_weights(unit, Pass::kForward);
  for (size_t unit = units_.size(); backward && unit-- > 0;) {
    if (unit + 1 < units_.size()) wait_for_weights(unit, Pass::kBackward);
    finish_unit(unit);
  }
}

void ParameterStore::finish_gradients() {
  if (shard().size() > 1) {
    for (size_t unit = units_.size(); zero_stage_ == 1 && unit-- > 0;) unsummed().start_sum(unit);
    unsummed().finish_update();
  }
  begun_.assign(units_.size(), false);
  if (replicas().size() > 1) sum_over_replicas();
}

// All at once: each waits for the one before it on the device.
void ParameterStore::sum_over_replicas() {
  std::vector<Handle> sums;
  for (size_t unit = units_.size(); unit-- > 0;) {
    at::Tensor share = share_of(unit, gradients());
    sums.push_back(replicas().start_all_reduce(share, replica_names_[unit]));
  }
  for (Handle& sum : sums) sum.wait_on_stream();
}

void ParameterStore::init_random(uint64_t seed) {
  int64_t blocks = 0;
  for (const auto& p : parameters_) blocks += p.name.ends_with("o_proj.weight");
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const ParameterInfo& p = parameters_[i];
    const at::Tensor values = weights().narrow(0, p.offset, p.size);
    const double std = 0.02 / (is_residual_projection(p.name) ? std::sqrt(2.0 * double(blocks)) : 1.0);
    if (p.decays) {
      fill_normal(values, mix_key({seed, i}), std);
    } else {
      values.fill_(p.name.ends_with(".bias") ? 0 : 1);
    }
  }
  master_ = at::Tensor();  // made anew from these
}

}  // namespace temper::policy
