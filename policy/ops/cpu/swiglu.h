#pragma once
// The gated activation of the feed-forward layer.
// Source: Shazeer, "GLU Variants Improve Transformer" (2020), SwiGLU without biases.

#include <cstdint>

namespace temper::policy::cpu {

// y = gate · sigmoid(gate) · up.
// Shapes: gate_up [rows, 2·width], gate first · y [rows, width]
template <class T>
void swiglu(const T* gate_up, int64_t rows, int64_t width, T* y);

// d_gate_up [rows, 2·width] from dy [rows, width].
template <class T>
void swiglu_backward(const T* dy, const T* gate_up, int64_t rows, int64_t width, T* d_gate_up);

}  // namespace temper::policy::cpu
