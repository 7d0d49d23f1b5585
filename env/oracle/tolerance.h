#pragma once
// How wrong an output may be, on whatever device.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "env/task/task.h"

namespace temper {

at::ScalarType dtype_of(ElementType type);

// The mean size of each output's elements that are finite in its type, over some draws; of outputs with few
// elements over more, as one may be near zero by chance.
using OutputsOfDraw = std::function<std::vector<at::Tensor>(uint64_t draw)>;
std::vector<double> output_scales(const Task& task, const Shape& shape, const OutputsOfDraw& outputs_of);

// Relative to |expected| and the output's scale (compare.h): the task's tolerance, the rounding of the
// output's type, and the rounding of a sum over as many terms as the largest input has elements for each
// output element.
double strict_error(const Task& task, size_t output, const Shape& shape);

// … and four times what the baseline at its precision is off, up to what that precision may excuse.
double allowed_error(double strict, ElementType type, double baseline_error);

// … and, of outputs in 16 bits, four times what the baseline is off that keeps what lies between its inputs and
// its outputs in f32, in f32 itself, and once what the eager one is. Short roundings in between are not an
// honest candidate's need, they are its right: it may be as wrong as eager, and the strict bound beside it.
// Four times that would be room enough for another function: x·σ(1.702 x) is off tanh-GELU by 5e-2, and a mean
// square over three quarters of a row of the whole by 4e-2, where eager is off by 7e-3 and 9e-3.
double allowed_error(double strict, ElementType type, double single_error, double eager_error);

// How many times its scale an output may grow while few elements make it grow, without a plain sum in f32
// losing the many others by more than the bound: no limit where they are too few to matter.
double most_growth(const Task& task, size_t output, const Shape& shape);

}  // namespace temper
