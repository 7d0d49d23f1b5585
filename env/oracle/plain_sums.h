#pragma once
// What a plain f32 sum, in order and in one place, loses of its terms.
//
// What has been summed up has a last place, and each term that is added is rounded to it. Terms of all sizes and signs
// are rounded up as often as down. But terms below half the last place all vanish: after one term of 1, the sum of 4,095
// terms of 2^-25 is 1, not 1.0001. Terms that are nearly equal are all rounded in one direction, too. Roundings of the
// inputs and of what an op makes, each in its own direction, do not show that.

#include <ATen/core/Tensor.h>

namespace torch::jit {
struct Graph;
}

namespace temper::env {

// What a sum over these dimensions, all if there are none, would be off if each term were rounded to the last place of
// the whole, |Σ t| or, if larger, the largest |t|. That is what a sum loses that has the largest term first; others lose
// less. It is at most 2^-8 of the whole, the most for 2^17 terms, so that not everything is excused where there are
// millions. Terms are floating; the dimensions stay, of size 1.
// Source: Higham, "The accuracy of floating point summation" (1993), on recursive summation.
at::Tensor loss_of_sum(const at::Tensor& terms, at::IntArrayRef dims);

// The same for running sums along a dimension. Each term is rounded to the last place of the sum at that term.
at::Tensor loss_of_running_sums(const at::Tensor& terms, const at::Tensor& sums, int64_t dim);

// Makes each sum, mean and running sum of a graph lose so much of that that the whole loss is as many movements as a right answer may
// differ by (sensitivity.h). Ops that sum inside, such as softmax and layer_norm, are written out as others that do.
void lose_in_sums(torch::jit::Graph& graph);

}  // namespace temper::env
