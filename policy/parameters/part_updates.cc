#include "policy/parameters/part_updates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "policy/cuda/device.h"
#include "policy/parameters/flat.h"
#include "policy/parameters/parameter_store.h"
#include "policy/parameters/stage_copies.h"

namespace temper::policy {
namespace {

constexpr int kStages = 3;   // one comes, one is updated, one goes
constexpr int kTensors = 3;  // master, two moments

class CopiesOnTheHost : public StageCopies {
 public:
  void fetch(int, std::span<const CopyPair> copies) override { copy(copies); }
  void store(int, std::span<const CopyPair> copies) override { copy(copies); }
  void finish() override {}

 private:
  static void copy(std::span<const CopyPair> copies) {
    for (const CopyPair& pair : copies) copy_bytes(pair.to, pair.from);
  }
};

// Of one update.
class PartUpdates {
 public:
  PartUpdates(const ParameterStore& store, int64_t piece);

  void adamw(const ParameterPart& part, const AdamWFactors& factors);
  void finish();  // until the numbers on the host are the new ones

 private:
  struct Stage {
    at::Tensor master, moment1, moment2;  // [piece]
  };
  void update_piece(const ParameterPart& part, int64_t begin, const AdamWFactors& factors);

  const int64_t piece_;
  std::vector<Stage> stages_;  // none where all lies on the device
  std::unique_ptr<StageCopies> copies_;
  size_t next_ = 0;
};

PartUpdates::PartUpdates(const ParameterStore& store, int64_t piece)
    : piece_(std::min(piece, store.share_size())) {
  if (!store.offloads()) return;
  const at::TensorOptions options = store.state_options();
  const auto memory = [&] { return at::empty({piece_}, options); };
  for (int i = 0; i < kStages; ++i) stages_.push_back({memory(), memory(), memory()});
  if (options.device().is_cuda())
    copies_ = cuda::make_stage_copies(kStages);
  else
    copies_ = std::make_unique<CopiesOnTheHost>();
}

void PartUpdates::adamw(const ParameterPart& part, const AdamWFactors& factors) {
  if (!copies_)
    return policy::adamw(part.master, part.weights, part.gradients, part.moment1, part.moment2, factors);
  for (int64_t begin = 0; begin < part.weights.numel(); begin += piece_) update_piece(part, begin, factors);
}

void PartUpdates::update_piece(const ParameterPart& part, int64_t begin, const AdamWFactors& factors) {
  const int64_t size = std::min(piece_, part.weights.numel() - begin);
  const auto stage = int(next_++ % stages_.size());
  const auto of = [=](const at::Tensor& tensor) { return tensor.narrow(0, begin, size); };
  const auto here = [=](const at::Tensor& tensor) { return tensor.narrow(0, 0, size); };
  const Stage& memory = stages_[size_t(stage)];
  std::vector<CopyPair> in = {{here(memory.moment1), of(part.moment1)},
                              {here(memory.moment2), of(part.moment2)}};
  const bool has_master = part.master.data_ptr() != part.weights.data_ptr();
  if (has_master) in.push_back({here(memory.master), of(part.master)});
  copies_->fetch(stage, in);
  policy::adamw(has_master ? here(memory.master) : of(part.weights), of(part.weights), of(part.gradients),
                here(memory.moment1), here(memory.moment2), factors);
  std::vector<CopyPair> out;
  for (const CopyPair& pair : in) out.push_back({pair.from, pair.to});
  copies_->store(stage, out);
}

void PartUpdates::finish() {
  if (copies_) copies_->finish();
}

}  // namespace

void update_parts(ParameterStore& store, const std::vector<ParameterPart>& parts,
                  const std::function<const AdamWFactors&(const ParameterInfo&)>& factors_of, int64_t piece) {
  PartUpdates updates(store, piece);
  size_t unit = 0;
  for (const ParameterPart& part : parts) {
    for (; unit < part.parameter.unit; ++unit) store.gather_weights(unit);
    updates.adamw(part, factors_of(part.parameter));
  }
  for (; unit < store.units().size(); ++unit) store.gather_weights(unit);
  updates.finish();
}

int64_t update_stage_bytes(int64_t share_size) {
  return kStages * kTensors * std::min(share_size, kUpdatePiece) * int64_t(sizeof(float));
}

}  // namespace temper::policy
