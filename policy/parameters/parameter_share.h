#pragma once
// A rank's share of master weights and moments, out of the way of training and in files: what a checkpoint
// holds of the policy. In a file the tensors are master.NAME, moment1.NAME and moment2.NAME, [n] each: of the
// parameter NAME those elements that the rank's optimizer moves.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/hugging_face/safetensors.h"
#include "policy/parameters/not_finite.h"
#include "policy/parameters/parameter_store.h"

namespace temper {

// Parameter → where its elements in a share begin inside of it.
using ShareBegins = std::map<std::string, int64_t>;

// A copy in host memory, which is kept for the next one; pinned where the policy is on a GPU.
class ShareCopy {
 public:
  void take(ParameterStore& store);  // done at the return
  std::map<std::string, StoredTensor> tensors() const;
  ShareBegins begins() const;

 private:
  struct Piece {
    std::string name;  // of the parameter
    int64_t begin, size;
  };
  at::Tensor memory_;  // master, moment1, moment2 of each piece, one behind the other
  std::vector<Piece> pieces_;
};

struct SavedShare {
  const SafetensorsFile& file;
  ShareBegins begins;
};

// This rank's master, moments and then all weights, cut anew from the shares of any number of ranks. Called
// on all ranks; returns what of the shares is not finite, over all ranks. Errors: ConfigError naming the
// parameter that they do not hold in full.
NotFinite restore_shares(ParameterStore& store, const std::vector<SavedShare>& shares);

}  // namespace temper
