#pragma once
// Random roundings of what a reference computes (Reference::rounded).

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace torch::jit {
struct Graph;
}

namespace temper::env {

// While it lives, the ops that round_results has put into a graph multiply each element by 1 ± `rounding`. There is
// at most one at a time in a thread.
class RandomRoundings {
 public:
  RandomRoundings(double rounding, uint64_t key);
  ~RandomRoundings();
  RandomRoundings(const RandomRoundings&) = delete;
  RandomRoundings& operator=(const RandomRoundings&) = delete;

  // The tensor with the next roundings of this key, or itself if it is not floating.
  at::Tensor next(const at::Tensor& exact) const;

 private:
  double rounding_;
  uint64_t key_;
  mutable uint64_t made_ = 0;
};

// Rounds each tensor that an op of the graph makes. Views of others are left as they are.
void round_results(torch::jit::Graph& graph);

}  // namespace temper::env
