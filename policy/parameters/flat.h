#pragma once
// Passes over flat buffers, wherever they lie: on the CPU's threads or the GPU.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "policy/ops/adamw.h"

namespace temper::policy {

// Σ x² in f64, in an order that depends on the size alone.
double squared_norm(const at::Tensor& values);

// Moves master and moments; weights become master, rounded where their dtype is narrower (else they are the
// same tensor); gradients end as zeros. All [size].
void adamw(const at::Tensor& master, const at::Tensor& weights, const at::Tensor& gradients,
           const at::Tensor& moment1, const at::Tensor& moment2, const AdamWFactors& factors);

// Memory of tensors that are gone goes back to a GPU: in front of a large one, which seldom fits into it.
void give_back_unused(at::Device device);

// [size]. Errors: WorldError naming the size and the device if there is no memory for it.
at::Tensor allocate_zeros(int64_t size, const at::TensorOptions& options);

// The same in the host's memory. Where `options` name a GPU, that reads and writes it by itself, and no more of the host's
// memory is taken than it needs.
at::Tensor allocate_host_zeros(int64_t size, const at::TensorOptions& options);

// to += values. Both [n].
void add_to(const at::Tensor& to, const at::Tensor& values);
void clear(const at::Tensor& values);  // to zeros

// The same type and size; to or from the host as well.
void copy_bytes(const at::Tensor& to, const at::Tensor& from);

// Of any two types and places, both [n]; numbers are rounded to the nearest, half to even. Takes no more memory in between than a
// piece of it needs.
void copy_in_pieces(const at::Tensor& to, const at::Tensor& from);

// values[i] = std · the i-th standard normal of Rng(key).
void fill_normal(const at::Tensor& values, uint64_t key, double std);

}  // namespace temper::policy
