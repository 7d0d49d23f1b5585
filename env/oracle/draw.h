#pragma once
// Secret inputs: a fast generator of whole tensors.

#include <cstdint>

#include "env/call/draw_family.h"
#include "env/task/task.h"

namespace temper::env {

// Fills `out` with a draw of that form, which was made for this input at this shape. The same key gives the same draw.
void draw_input(const TensorSpec& input, const Shape& shape, double magnitude, const DrawForm& form,
                uint64_t key, void* out);

// Changes one element by much: a sum, a maximum or a gathered row shows it.
void spike_input(const TensorSpec& input, const Shape& shape, double magnitude, uint64_t key, void* data);

}  // namespace temper::env
