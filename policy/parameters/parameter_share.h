#pragma once
// A rank's share of master weights and moments, copied to the host and stored in files: the part of a checkpoint that
// belongs to the policy. A file has tensors master.NAME, moment1.NAME and moment2.NAME, [n] each, with those elements
// of the parameter NAME that the rank's optimizer updates.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/hugging_face/safetensors.h"
#include "policy/parameters/not_finite.h"
#include "policy/parameters/parameter_store.h"

namespace temper::policy {

// Parameter → where its elements in a share begin inside of it.
using ShareBegins = std::map<std::string, int64_t>;

// A copy in host memory, which is kept for the next one; pinned where the policy is on a GPU. Of replicas of a share
// only the first has one, and those of the others are empty.
class ShareCopy {
 public:
  void take(ParameterStore& store);  // the copy is complete on return
  // Whether there is no copy, since the numbers lie on the host anyway. They must not be updated before they are written.
  bool refers() const { return refers_; }
  std::map<std::string, StoredTensor> tensors() const;
  ShareBegins begins() const;

 private:
  struct Piece {
    std::string name;  // the parameter's
    int64_t begin = 0;
    std::array<at::Tensor, 3> numbers = {};  // master, moment1, moment2
  };
  void reserve(ParameterStore& store, const std::vector<ParameterPart>& parts);

  at::Tensor memory_;  // the numbers of each piece, one after another
  std::vector<Piece> pieces_;
  bool refers_ = false;
};

struct SavedShare {
  const SafetensorsFile& file;
  ShareBegins begins;
};

// Restores this rank's master and moments, and then all weights, from the shares that any number of ranks saved. All
// ranks call it. Returns the numbers in the shares that are not finite, over all ranks. Errors: ConfigError naming a
// parameter that the shares do not contain in full.
NotFinite restore_shares(ParameterStore& store, const std::vector<SavedShare>& shares);

}  // namespace temper::policy
