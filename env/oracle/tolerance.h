#pragma once
// How wrong an output may be, on whatever device.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

at::ScalarType dtype_of(ElementType type);

// The mean absolute value of each output's elements that are finite in its type, over several draws. Outputs with
// few elements take more draws, because a single element may be near zero by chance.
using OutputsOfDraw = std::function<std::vector<at::Tensor>(uint64_t draw)>;
std::vector<double> output_scales(const Task& task, const Shape& shape, const OutputsOfDraw& outputs_of);

// Relative to |expected| and the output's scale (compare.h): the task's tolerance, the rounding of the
// output's type, and the rounding of a sum over terms_of_output (env/call/draw_forms.h) terms.
double strict_error(const Task& task, size_t output, const Shape& shape);

// The strict error, and in addition four times the error of the baseline at its precision, up to what that
// precision can excuse.
double allowed_error(double strict, ElementType type, double baseline_error);

// The strict error, and in addition four times the error of a baseline that keeps all intermediate values in f32.
// Outputs in 16 bits may also have once the error of the eager baseline on top of that. The sum is bounded by what
// the outputs' precision can excuse. An honest candidate may round intermediate values to 16 bits as eager does, so it
// may be as wrong as eager, but no more: four times eager's error would admit other functions. x·σ(1.702 x) differs
// from tanh-GELU by 5e-2, and a mean square over three quarters of a row from that over the whole row by 4e-2, where
// eager is off by 7e-3 and 9e-3.
double allowed_error(double strict, ElementType type, double single_error, double eager_error);

// How many times its scale an output may grow while few elements make it grow, without a plain sum in f32
// losing the many others by more than the bound: no limit where they are too few to matter.
double most_growth(const Task& task, size_t output, const Shape& shape);

}  // namespace temper::env
