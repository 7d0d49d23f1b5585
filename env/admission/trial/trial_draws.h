#pragma once
// Draws of inputs for the trials, made where the cases are: at a timed shape the host takes a second for what a GPU
// draws in a millisecond.

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "env/call/draw_family.h"
#include "env/task/task.h"

namespace temper::env {

struct TrialDraw {
  const TensorSpec& input;
  const Shape& shape;
  double magnitude;
  uint64_t key;
  DrawForm form;                       // how it departs; of a plain draw, that of its kind
  std::optional<uint64_t> spike = {};  // changes the element that this key chooses by much
};

// The tensor on the device, in the input's type. The same draw gives the same bits on the same device.
using Drawer = std::function<at::Tensor(const TrialDraw&)>;

// Errors: WorldError if the GPU or its driver fails.
Drawer drawer_on(at::Device device);

}  // namespace temper::env
