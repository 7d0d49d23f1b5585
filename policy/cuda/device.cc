#include "policy/cuda/device.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "policy/ops/cuda/attention/attention.h"
#include "policy/ops/cuda/ops.h"
#include "policy/ops/cuda/products/products.h"

namespace temper::policy::cuda {
namespace {

cudaStream_t stream() { return c10::cuda::getCurrentCUDAStream(); }

DType dtype_of(const at::Tensor& values) {
  return values.scalar_type() == at::kBFloat16 ? DType::kBF16 : DType::kF32;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string libraries_text() {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return fmt::format("driver for CUDA {}, CUDA {}, cuBLASLt {}, cuDNN {}", version_text(driver),
                     version_text(runtime), Products::library_version(), PackedAttention::library_version());
}

}  // namespace

int gpu_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string no_gpu_reason() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  if (driver == 0) return "no NVIDIA driver is loaded";
  if (driver < runtime)
    return fmt::format("the driver is for CUDA {}, this program needs {}", version_text(driver),
                       version_text(runtime));
  return error == cudaSuccess ? "no GPU is visible" : cudaGetErrorString(error);
}

std::vector<std::pair<std::string, std::string>> library_versions() {
  const auto text = [](int64_t v) { return fmt::format("{}.{}.{}", v / 10000, v % 10000 / 100, v % 100); };
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return {{"CUDA", version_text(runtime)},
          {"cuBLASLt", text(Products::library_version())},
          {"cuDNN", text(PackedAttention::library_version())}};
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (int ordinal = 0; ordinal < gpu_count(); ++ordinal) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    names.push_back(properties.name);
  }
  return names;
}

std::string unfit_gpu(int ordinal) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  if (properties.major == 9) return "";
  return fmt::format("cuda:{} is a {} of compute capability {}.{}: must be 9.0 (H100, H200)", ordinal,
                     properties.name, properties.major, properties.minor);
}

Gpu describe_gpu(int ordinal) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {properties.name, int64_t(free), int64_t(total), libraries_text()};
}

void use_gpu(int ordinal) {
  const int count = gpu_count();
  if (count == 0) throw ConfigError("model.device: cuda is not available: {}", no_gpu_reason());
  if (ordinal >= count)
    throw ConfigError("model.device: cuda:{} is not there: {} visible, from cuda:0", ordinal,
                      count == 1 ? "1 GPU is" : fmt::format("{} GPUs are", count));
  if (const std::string unfit = unfit_gpu(ordinal); !unfit.empty())
    throw ConfigError("model.device: {}", unfit);
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(false, c10::DeviceIndex(ordinal)));
}

void synchronize() { check(cudaStreamSynchronize(stream()), "synchronize"); }

void give_back_unused() { c10::cuda::CUDACachingAllocator::emptyCache(); }

PeakMemory peak_memory() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
  const auto all = size_t(c10::CachingAllocator::StatType::AGGREGATE);
  return {stats.allocated_bytes[all].peak, stats.reserved_bytes[all].peak};
}

double squared_norm(const at::Tensor& values) {
  const auto options = values.options().dtype(at::kDouble);
  const at::Tensor scratch = at::empty({kSumBlocks}, options), sum = at::empty({1}, options);
  squared_norm(values.const_data_ptr<float>(), values.numel(), scratch.data_ptr<double>(),
               sum.data_ptr<double>(), stream());
  return sum.item<double>();
}

void adamw(const at::Tensor& master, const at::Tensor& weights, const at::Tensor& gradients,
           const at::Tensor& moment1, const at::Tensor& moment2, const temper::policy::AdamWFactors& f) {
  adamw(
      dtype_of(weights), master.data_ptr<float>(), weights.data_ptr(), gradients.data_ptr<float>(),
      moment1.data_ptr<float>(), moment2.data_ptr<float>(), weights.numel(),
      AdamWFactors{float(f.gradient_scale), float(f.keep), float(f.beta1), float(1 - f.beta1), float(f.beta2),
                   float(1 - f.beta2), float(f.step), float(f.root_correction), float(f.epsilon)},
      stream());
}

void fill_normal(const at::Tensor& values, uint64_t key, double std) {
  fill_normal(dtype_of(values), values.data_ptr(), values.numel(), key, std, stream());
}

}  // namespace temper::policy::cuda
