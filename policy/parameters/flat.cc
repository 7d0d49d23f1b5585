#include "policy/parameters/flat.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/rng.h"
#include "policy/cuda/device.h"

namespace temper::policy {
namespace {

void fill_normal_cpu(const at::Tensor& values, uint64_t key, double std) {
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, values.scalar_type(), "fill_normal", [&] {
    Rng rng(key);
    auto* data = values.data_ptr<scalar_t>();
    for (int64_t i = 0; i < values.numel(); ++i) data[i] = scalar_t(std * rng.normal());
  });
}

}  // namespace

void give_back_unused(at::Device device) {
  if (device.is_cuda()) cuda::give_back_unused();
}

// The allocator's own words are a page of addresses.
at::Tensor allocate_zeros(int64_t size, const at::TensorOptions& options) try {
  return at::zeros({size}, options);
} catch (const c10::Error&) {
  throw WorldError("there is no memory for {} MiB of the policy's parameters on {}",
                   size * int64_t(options.dtype().itemsize()) >> 20,
                   options.device().is_cpu() ? "this host" : options.device().str());
}

at::Tensor allocate_host_zeros(int64_t size, const at::TensorOptions& options) {
  return options.device().is_cuda()
             ? cuda::host_zeros(size, options.dtype().toScalarType(), "the optimizer's state")
             : allocate_zeros(size, options);
}

double squared_norm(const at::Tensor& values) {
  if (values.is_cuda()) return cuda::squared_norm(values);
  return AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "squared_norm", [&] {
    return cpu::squared_norm(values.const_data_ptr<scalar_t>(), values.numel());
  });
}

void adamw(const at::Tensor& master, const at::Tensor& weights, const at::Tensor& gradients,
           const at::Tensor& moment1, const at::Tensor& moment2, const AdamWFactors& factors) {
  if (weights.is_cuda()) return cuda::adamw(master, weights, gradients, moment1, moment2, factors);
  TEMPER_CHECK(master.data_ptr() == weights.data_ptr());
  AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "adamw", [&] {
    cpu::adamw(weights.data_ptr<scalar_t>(), gradients.data_ptr<scalar_t>(), moment1.data_ptr<scalar_t>(),
               moment2.data_ptr<scalar_t>(), weights.numel(), factors);
  });
}

// On CPUs not by ATen: that would wake OpenMP's threads, which then spin beside ours.
void add_to(const at::Tensor& to, const at::Tensor& values) {
  if (to.is_cuda()) {
    to.add_(values);
    return;
  }
  TEMPER_CHECK_EQ(to.numel(), values.numel());
  AT_DISPATCH_FLOATING_TYPES(to.scalar_type(), "add_to", [&] {
    scalar_t* y = to.data_ptr<scalar_t>();
    const scalar_t* x = values.const_data_ptr<scalar_t>();
    for (int64_t i = 0; i < to.numel(); ++i) y[i] += x[i];
  });
}

void clear(const at::Tensor& values) {
  if (values.is_cuda())
    values.zero_();
  else
    std::memset(values.data_ptr(), 0, values.nbytes());
}

void copy_bytes(const at::Tensor& to, const at::Tensor& from) {
  TEMPER_CHECK_EQ(to.nbytes(), from.nbytes());
  if (to.is_cuda() || from.is_cuda())
    to.copy_(from);
  else
    std::memcpy(to.data_ptr(), from.const_data_ptr(), from.nbytes());
}

void copy_in_pieces(const at::Tensor& to, const at::Tensor& from) {
  if (to.scalar_type() == from.scalar_type()) return copy_bytes(to, from);
  constexpr int64_t kPiece = int64_t(16) << 20;
  for (int64_t begin = 0; begin < to.numel(); begin += kPiece) {
    const int64_t size = std::min(kPiece, to.numel() - begin);
    to.narrow(0, begin, size).copy_(from.narrow(0, begin, size));
  }
}

void fill_normal(const at::Tensor& values, uint64_t key, double std) {
  values.is_cuda() ? cuda::fill_normal(values, key, std) : fill_normal_cpu(values, key, std);
}

}  // namespace temper::policy
