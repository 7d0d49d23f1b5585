#pragma once
// Random roundings of what a reference computes (Reference::rounded).

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace torch::jit {
struct Graph;
}

namespace temper::env {

// What one rounding may change of an element, relative to it.
struct RoundingErrors {
  double inputs = 0;   // of the inputs
  double results = 0;  // of what an op makes
};

// While it lives, the ops that round_results has put into a graph multiply each element by 1 ± `errors.results`. There
// is at most one at a time in a thread.
class RandomRoundings {
 public:
  RandomRoundings(RoundingErrors errors, uint64_t key);
  ~RandomRoundings();
  RandomRoundings(const RandomRoundings&) = delete;
  RandomRoundings& operator=(const RandomRoundings&) = delete;

  // The tensor with the next roundings of this key, or itself if it is not floating.
  at::Tensor of_input(const at::Tensor& exact) const { return next(exact, errors_.inputs); }
  at::Tensor of_result(const at::Tensor& exact) const { return next(exact, errors_.results); }
  // A sum or a mean with the rounding error of so many terms: half a unit in the last place of f32, times the root of their
  // number. It stays as it is where the inputs' error (sensitivity.h) is larger, as it is for sums over one dimension.
  at::Tensor of_sum(const at::Tensor& exact, double terms) const;

  // Running sums with the rounding errors of all sums before them: each is rounded once in f32, and none forgets it. Those that are
  // small after large ones err by far more than their own last place. They stay as they are where inputs do.
  at::Tensor of_running_sums(const at::Tensor& exact, int64_t dim) const;

  // The roundings under which this thread runs a reference. Errors: TEMPER_CHECK where it runs none.
  static const RandomRoundings& running();

 private:
  at::Tensor next(const at::Tensor& exact, double error) const;

  RoundingErrors errors_;
  uint64_t key_;
  mutable uint64_t made_ = 0;
};

// Rounds each tensor that an op of the graph makes, and what a fused attention makes on its way. Views of others are
// left as they are.
void round_results(torch::jit::Graph& graph);

}  // namespace temper::env
