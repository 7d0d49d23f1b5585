#include "env/gpu/device/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace temper::env {
namespace {

constexpr int kLeastDriver = 13000;

#define TEMPER_TEXT_OF(name) #name
#define TEMPER_TEXT(name) TEMPER_TEXT_OF(name)

Driver load() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw WorldError("no NVIDIA driver here: {}", ::dlerror());
  Driver loaded;
  std::string missing;
#define TEMPER_DRIVER_LOAD(name)                                                              \
  loaded.name = reinterpret_cast<decltype(loaded.name)>(::dlsym(library, TEMPER_TEXT(name))); \
  if (loaded.name == nullptr) missing = TEMPER_TEXT(name);
  TEMPER_DRIVER_CALLS(TEMPER_DRIVER_LOAD)
#undef TEMPER_DRIVER_LOAD
  if (!missing.empty())
    throw WorldError("the NVIDIA driver is too old, it has no {}: CUDA 13.0 needs 580 or later", missing);
  return loaded;
}

std::string error_name(CUresult code) {
  const char* name = nullptr;
  return driver().cuGetErrorName(code, &name) == CUDA_SUCCESS ? name
                                                              : fmt::format("CUDA_ERROR_{}", int(code));
}

std::string error_words(CUresult code) {
  const char* words = nullptr;
  return driver().cuGetErrorString(code, &words) == CUDA_SUCCESS ? words : "";
}

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  TEMPER_GPU(cuDeviceGetAttribute, &value, which, device);
  return value;
}

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i)
    text += fmt::format("{}{:02x}", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                        static_cast<unsigned char>(uuid.bytes[i]));
  return text;
}

CUdevice device_of(int ordinal) {
  int count = 0;
  TEMPER_GPU(cuInit, 0);
  TEMPER_GPU(cuDeviceGetCount, &count);
  if (count == 0) throw WorldError("the NVIDIA driver sees no GPU");
  CUdevice device = 0;
  TEMPER_GPU(cuDeviceGet, &device, ordinal % count);
  return device;
}

// What a driver leaves out stays as the table has it.
void ask(CUdevice device, CUdevice_attribute which, int32_t& value) {
  int said = 0;
  if (driver().cuDeviceGetAttribute(&said, which, device) == CUDA_SUCCESS && said > 0) value = said;
}

GpuTarget target_of(CUdevice device, const GpuFacts& facts) {
  GpuTarget target;
  std::fill(std::begin(target.name), std::end(target.name), '\0');
  facts.name.copy(target.name, sizeof target.name - 1);
  target.memory_bytes = facts.memory_bytes;
  const std::pair<CUdevice_attribute, int32_t*> asked[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &target.major},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &target.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &target.warp_size},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &target.max_threads_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &target.max_threads_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &target.max_blocks_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &target.registers_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &target.shared_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &target.shared_per_block_optin},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &target.shared_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &target.reserved_shared_per_block},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &target.clock_khz},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &target.memory_clock_khz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &target.memory_bus_bits},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &target.l2_bytes},
  };
  for (const auto& [which, value] : asked) ask(device, which, *value);
  return target;
}

GpuFacts facts_of(CUdevice device) {
  GpuFacts facts;
  char name[128] = {};
  TEMPER_GPU(cuDeviceGetName, name, sizeof name - 1, device);
  facts.name = name;
  CUuuid uuid;
  TEMPER_GPU(cuDeviceGetUuid, &uuid, device);
  facts.uuid = uuid_text(uuid);
  size_t memory = 0;
  TEMPER_GPU(cuDeviceTotalMem, &memory, device);
  facts.memory_bytes = int64_t(memory);
  TEMPER_GPU(cuDriverGetVersion, &facts.driver);
  facts.capability = 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                     attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.target = target_of(device, facts);
  facts.clock_hz = 1e3 * facts.target.clock_khz;
  facts.bytes_per_s = 2e3 * facts.target.memory_clock_khz * facts.target.memory_bus_bits / 8;
  return facts;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load();
  return loaded;
}

GpuError::GpuError(CUresult code, const char* call)
    : WorldError(fmt::format("{}: {} ({})", call, error_name(code), error_words(code))), code_(code) {}

std::string GpuError::reason() const {
  std::string name = error_name(code_);
  if (name.starts_with("CUDA_ERROR_")) name.erase(0, std::strlen("CUDA_ERROR_"));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return name;
}

std::string GpuError::words() const { return error_words(code_); }

bool GpuError::context_lost() const {
  constexpr CUresult kLost[] = {
      CUDA_ERROR_ILLEGAL_ADDRESS,     CUDA_ERROR_LAUNCH_TIMEOUT,       CUDA_ERROR_LAUNCH_FAILED,
      CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_MISALIGNED_ADDRESS,   CUDA_ERROR_INVALID_ADDRESS_SPACE,
      CUDA_ERROR_INVALID_PC,          CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_ASSERT,
      CUDA_ERROR_CONTAINED,           CUDA_ERROR_TENSOR_MEMORY_LEAK};
  return std::find(std::begin(kLost), std::end(kLost), code_) != std::end(kLost);
}

GpuFacts look_at_gpu(int ordinal) { return facts_of(device_of(ordinal)); }

GpuFacts enter_gpu(int ordinal) {
  const CUdevice device = device_of(ordinal);
  const GpuFacts facts = facts_of(device);
  if (facts.driver < kLeastDriver)
    throw WorldError("the NVIDIA driver knows CUDA {}.{}; 13.0 is needed", facts.driver / 1000,
                     facts.driver % 1000 / 10);
  TEMPER_GPU(cuDevicePrimaryCtxSetFlags, device, CU_CTX_SCHED_SPIN);
  CUcontext context = nullptr;
  TEMPER_GPU(cuDevicePrimaryCtxRetain, &context, device);
  TEMPER_GPU(cuCtxSetCurrent, context);
  return facts;
}

}  // namespace temper::env
