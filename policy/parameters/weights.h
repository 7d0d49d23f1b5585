#pragma once
// The parameters as the decoder's products want them: pointers to weights or gradients.

#include <vector>

#include "policy/parameters/parameter_store.h"

namespace temper::policy {

template <class T>
struct BlockWeights {
  T* input_norm;  // [D]
  T* qkv;         // [(H+2K)·hd, D]
  T* q_norm;      // [hd], as k_norm null where queries and keys are not normalised
  T* k_norm;      // [hd]
  T* o;           // [D, H·hd]
  T* post_norm;   // [D]
  T* gate_up;     // [2F, D]
  T* down;        // [D, F]
  // Null if the model has no such bias.
  T* qkv_bias;      // [(H+2K)·hd]
  T* o_bias;        // [D]
  T* gate_up_bias;  // [2F]
  T* down_bias;     // [D]
};

template <class T>
struct ModelWeights {
  T* embedding;  // [V, D]
  std::vector<BlockWeights<T>> blocks;
  T* norm;  // [D]
  T* head;  // [V, D], the embedding where tied
};

template <class T>
ModelWeights<T> weight_pointers(const ParameterStore& store, const ModelConfig& config);

// The tensors to which the backward adds gradients, see ParameterStore::gradient.
template <class T>
ModelWeights<T> gradient_pointers(ParameterStore& store, const ModelConfig& config);

// The weights', looked up again only where they may have moved: names cost more than a decode step has to
// spare. `arriving` are those of weights that may still be on their way from other ranks (wait_for_weights), or that
// blocks take turns to have at the same place while they are sharded.
template <class T>
class WeightPointers {
 public:
  const ModelWeights<T>& of(const ParameterStore& store, const ModelConfig& config) {
    store.weights();
    return arriving(store, config);
  }
  const ModelWeights<T>& arriving(const ParameterStore& store, const ModelConfig& config) {
    if (store.placement() != placement_) {
      pointers_ = weight_pointers<T>(store, config);
      placement_ = store.placement();
    }
    return pointers_;
  }

 private:
  uint64_t placement_ = 0;
  ModelWeights<T> pointers_ = {};
};

}  // namespace temper::policy
