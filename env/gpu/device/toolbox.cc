#include "env/gpu/device/toolbox.h"

#include <algorithm>
#include <utility>

extern "C" const char temper_gpu_kernels[];
asm(".section .rodata\n.balign 64\n.globl temper_gpu_kernels\ntemper_gpu_kernels:\n.incbin "
    "\"" TEMPER_GPU_KERNELS "\"\n.text\n");

namespace temper::env {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kFlushes = 2;  // times the size of the cache

CUfunction function_of(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  TEMPER_GPU(cuModuleGetFunction, &function, module, name);
  return function;
}

int64_t most_groups(const Draws& draws) {
  int64_t elements = 0;
  for (uint32_t i = 0; i < draws.count; ++i) elements = std::max(elements, draws.spec[i].elements);
  return (elements + 3) / 4;
}

int64_t most_groups(const Zones& zones) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < zones.count; ++i) bytes = std::max(bytes, zones.end[i] - zones.begin[i]);
  return int64_t(bytes + 15) / 16;
}

}  // namespace

GpuToolbox::GpuToolbox(const GpuFacts& facts, CUstream stream)
    : stream_(stream),
      most_blocks_(unsigned(8 * facts.multiprocessors)),
      quiet_bytes_(std::max<int64_t>(kFlushes * facts.l2_bytes, 1 << 20)) {
  TEMPER_GPU(cuMemAlloc, &quiet_, size_t(quiet_bytes_) + 16);
  TEMPER_GPU(cuMemsetD8Async, quiet_, 0, size_t(quiet_bytes_) + 16, stream_);
  reload();
}

void GpuToolbox::reload() {
  if (module_ != nullptr) TEMPER_GPU(cuModuleUnload, std::exchange(module_, nullptr));
  TEMPER_GPU(cuModuleLoadData, &module_, temper_gpu_kernels);
  draw_ = function_of(module_, "temper_draw");
  check_draws_ = function_of(module_, "temper_check_draws");
  fill_zones_ = function_of(module_, "temper_fill_zones");
  check_zones_ = function_of(module_, "temper_check_zones");
  digest_ = function_of(module_, "temper_digest");
  flush_ = function_of(module_, "temper_flush");
  wait_ = function_of(module_, "temper_wait");
  compare_ = function_of(module_, "temper_compare");
  compare_integers_ = function_of(module_, "temper_compare_integers");
}

template <class... Arguments>
void GpuToolbox::launch(CUfunction kernel, int64_t work, unsigned rows, Arguments... arguments) {
  void* addresses[] = {&arguments...};
  CUlaunchConfig config{};
  config.gridDimX = unsigned(std::clamp<int64_t>((work + kThreads - 1) / kThreads, 1, most_blocks_));
  config.gridDimY = rows;
  config.gridDimZ = 1;
  config.blockDimX = kThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  TEMPER_GPU(cuLaunchKernelEx, &config, kernel, addresses, nullptr);
}

void GpuToolbox::draw(const Draws& draws) {
  if (draws.count > 0) launch(draw_, most_groups(draws), draws.count, draws);
}

void GpuToolbox::check_draws(const Draws& draws, CUdeviceptr changed) {
  if (draws.count > 0) launch(check_draws_, most_groups(draws), draws.count, draws, changed);
}

void GpuToolbox::fill_zones(const Zones& zones) {
  if (zones.count > 0) launch(fill_zones_, most_groups(zones), zones.count, zones);
}

void GpuToolbox::check_zones(const Zones& zones, CUdeviceptr broken) {
  if (zones.count > 0) launch(check_zones_, most_groups(zones), zones.count, zones, broken);
}

void GpuToolbox::digest(uint64_t key, CUdeviceptr data, CUdeviceptr copy, int64_t bytes, CUdeviceptr sum) {
  launch(digest_, (bytes + 15) / 16, 1, key, data, copy, bytes, sum);
}

void GpuToolbox::flush_l2() {
  launch(flush_, int64_t(most_blocks_) * kThreads, 1, quiet_, quiet_bytes_ / 16,
         quiet_ + CUdeviceptr(quiet_bytes_));
}

void GpuToolbox::wait(int64_t cycles) { launch(wait_, 1, 1, cycles); }

void GpuToolbox::compare(const CompareSpec& spec, CUdeviceptr got, CUdeviceptr expected, CUdeviceptr result) {
  launch(spec.type == ElementType::kI32 ? compare_integers_ : compare_, spec.elements, 1, spec, got, expected,
         result);
}

}  // namespace temper::env
