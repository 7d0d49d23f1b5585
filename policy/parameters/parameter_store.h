#pragma once
// Flat weights, gradients and optimizer moments, and the names and shapes inside them. The only place that
// knows how they are laid out and sharded.
//
// Sharding (ZeRO-1, 2 or 3, see zero_stage_for). Each rank holds all weights, and its share of master weights and
// moments. Under ZeRO-3 it holds no more than its share of the weights, too, from shard_weights() to unshard_weights(),
// while the policy learns. The share consists of the rank-th of `size` equal parts of every unit (embedding, block,
// final norm with an untied head), one after another, by its rank in its shard group (shard_groups.h). A single rank's
// share is everything, at the same offsets. Gradients are kept by share as well, or whole until they are summed under
// ZeRO-1. They are summed over the shard group, and once an update over the replicas of a share, which all move it
// alike.
// Source: Rajbhandari et al., 1910.02054, section 5.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "policy/model_config.h"
#include "policy/parameters/gathered_weights.h"
#include "policy/parameters/shard_groups.h"
#include "policy/parameters/unsummed_gradients.h"
#include "policy/ranks/communicator.h"

namespace temper::policy {

struct ParameterInfo {
  std::string name;  // Hugging Face's, e.g. model.layers.0.self_attn.q_proj.weight
  std::vector<int64_t> shape;
  int64_t offset = 0;  // elements into the flat weights
  int64_t size = 0;    // elements
  bool decays = true;  // weight decay applies: matrices yes, norms and biases no
  size_t unit = 0;
};

// The part of one parameter that one rank's optimizer updates, [n] each: the elements from `begin` on.
struct ParameterPart {
  const ParameterInfo& parameter;
  int64_t begin;
  at::Tensor master, weights, gradients, moment1, moment2;
};

// The weights of such a part. A policy that only generates has them, too.
struct WeightPart {
  const ParameterInfo& parameter;
  int64_t begin;
  at::Tensor weights;  // [n]
};

// The parameters of a policy of this shape. They do not depend on how it is sharded.
std::vector<ParameterInfo> parameters_of(const ModelConfig& config);

// Their units where a unit is shared by `ranks` ranks: the embedding's, the blocks', the final one.
std::vector<ParameterUnit> units_of(const ModelConfig& config, int64_t ranks);

// The ZeRO stage that several ranks use, which says how they keep an update's gradient before it is summed over
// them (unsummed_gradients.h). If `given` is 0, stage 1 is chosen where the whole gradient is small, because sums of
// little data cost mostly the ranks' waiting for each other. Source: ZeRO, 1910.02054.
int64_t zero_stage_for(const ModelConfig& config, int64_t given);

class ParameterStore {
 public:
  // zero_stage: 1 to 3, or 0 for zero_stage_for's choice. shard_degree: ranks of a shard group; 0: all.
  // offload_optimizer: master weights and moments lie in the host's memory; weights that are their own master stay.
  ParameterStore(const ModelConfig& config, DType dtype, at::Device device, Communicator& ranks = alone(),
                 int64_t zero_stage = 0, int64_t shard_degree = 0, bool offload_optimizer = false);

  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  const std::vector<ParameterUnit>& units() const { return units_; }          // embedding, blocks, final
  int64_t size() const { return units_.back().offset + units_.back().size; }  // of flat weights, with padding
  int64_t share_size() const { return size() / shard().size(); }
  Communicator& ranks() const { return groups_.all(); }
  Communicator& shard() const { return groups_.shard(); }        // the ranks that share one copy
  Communicator& replicas() const { return groups_.replicas(); }  // those of the same share

  // Flat, [size()], in the store's dtype. The current stream, which is that of all computing, waits for what other ranks
  // still send of them. Errors: TEMPER_CHECK while they are sharded.
  const at::Tensor& weights() const;
  at::ScalarType weights_type() const { return type_; }  // any thread may ask
  // Waits in the same way for those of one unit alone, which lie at unit_weights() until the next block is waited for.
  // While weights are sharded this gathers them: all ranks call it for the units of a pass in order. What computes with
  // the unit before has been given to the current stream.
  void wait_for_weights(size_t unit, Pass pass);
  at::Tensor unit_weights(size_t unit) const;
  // Another number whenever units may lie elsewhere; no two stores have the same.
  uint64_t placement() const { return placement_; }

  // ZeRO-3 with several ranks: this rank keeps its share of the weights alone until unshard_weights(), which all ranks
  // call. Weights may lie elsewhere afterwards. Else both do nothing.
  void shard_weights();
  void unshard_weights();
  bool sharded() const { return gathered_.has_value(); }
  // What there is: the flat weights [size()], or this rank's share of them [share_size()]. A share in bf16 is kept as the f32
  // numbers alone from which it is rounded whenever it is gathered, where these lie on the device.
  const at::Tensor& held() const;
  // A copy of whole weights, in the form in which they are kept while the policy learns: this rank's share under ZeRO-3.
  at::Tensor copy_for_learning(const at::Tensor& whole) const;
  // `weights`, whole or of the form of copy_for_learning() as the store's own are at the moment, take their place. What is
  // in `weights` afterwards takes it back.
  void swap_weights(at::Tensor& weights) noexcept;

  // This rank's share, [share_size()], f32 (f64 for f64 weights); allocated and zeroed on first use: a policy
  // that only generates has none. Moments lie on the host where the store offloads them.
  at::Tensor& gradients();
  at::Tensor& moment1();
  at::Tensor& moment2();
  bool offloads() const { return offload_optimizer_; }
  at::TensorOptions state_options() const;  // of gradients, and of what the optimizer computes with
  // The parts that this rank's optimizer updates, parameter by parameter. Their master is the weights themselves or,
  // if those are bf16, the f32 numbers from which they are rounded. These stand for the weights, too, where a share is kept
  // as them alone.
  std::vector<ParameterPart> parts();
  // The weights that this rank gives to the others in gather_weights().
  std::vector<WeightPart> own_weights() const;
  // The optimizer has moved this rank's share of a unit: starts to give it to the group, unless weights are sharded. All
  // ranks call it for all units in order.
  void gather_weights(size_t unit);
  void gather_weights();  // of all units

  // Views. Errors: TEMPER_CHECK on an unknown name.
  at::Tensor weight(const std::string& name) const;
  at::Tensor gradient(const std::string& name);
  // The tensor to which the backward adds the parameter's gradient. With one rank it is a part of gradients(). With
  // several ranks it is a part of memory of unsummed_gradients.h.
  at::Tensor gradient(const ParameterInfo& parameter);
  // The backward begins to write a unit's gradient. Returns whether there is one of this update or, under ZeRO-2, of this
  // backward, to which it adds. Else it writes all of the unit's parameters, whose memory may hold anything.
  bool begin_unit(size_t unit);
  // The same for a backward that adds in any case: the memory holds zeros where there is no such gradient.
  void begin_unit_to_add(size_t unit);
  // The backward has added all of a unit's gradient: under ZeRO-2 starts to sum it over ranks into their shares. Units
  // are finished from the last to the first, once a backward, on all ranks.
  void finish_unit(size_t unit);
  // What ranks do together in a pass, forward alone or backward too, where the other ranks have a pack more.
  void pass_without_tokens(bool backward);
  // The memory in which gradients wait to be summed goes back to the device; none must wait.
  void release_unsummed();
  // All backwards of an update are done: from now on gradients() is the sum over ranks. The next backward is of another
  // update, until which the optimizer sets gradients() to zero.
  void finish_gradients();

  // HF initialisation: normal(0, 0.02), residual projections scaled by 1/sqrt(2L), norms 1, biases 0. Keyed:
  // depends on seed only.
  void init_random(uint64_t seed);

 private:
  struct Stretch {
    const ParameterInfo& parameter;
    int64_t begin, end;  // into the flat weights
  };
  std::vector<Stretch> own_stretches() const;
  at::Tensor& share_once(at::Tensor& tensor, bool on_host = false);
  UnsummedGradients& unsummed();
  void sum_over_replicas();
  void wait_for_weights() const;
  bool rounds_from_master() const;  // the share that is gathered
  bool shards_weights() const { return zero_stage_ == 3 && shard().size() > 1; }
  at::Tensor share_of(size_t unit, const at::Tensor& flat) const;
  const at::Tensor& master();

  ShardGroups groups_;
  std::vector<ParameterInfo> parameters_;
  std::vector<ParameterUnit> units_;
  std::vector<const char*> gather_names_, replica_names_;
  mutable std::vector<Handle> gathers_;  // by unit
  at::TensorOptions options_;            // of the weights
  at::ScalarType type_;
  at::Tensor weights_, share_;  // whole or sharded, one of the two at most
  at::Tensor master_, gradients_, moment1_, moment2_;
  std::vector<bool> begun_;  // by unit, with one rank alone: a part of this update's gradient is there
  int64_t zero_stage_;
  bool offload_optimizer_;
  uint64_t placement_;
  std::optional<GatheredWeights> gathered_;    // while weights are sharded
  std::optional<UnsummedGradients> unsummed_;  // with a shard group of several ranks only
};

}  // namespace temper::policy
