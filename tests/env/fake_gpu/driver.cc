// A libcuda.so.1 that computes on the CPU, one thread after another: what the judge does with a GPU can be
// tried where there is none. Of a cubin it reads nothing; kernels are known by name. Device memory is memory
// of the process.

#include "tests/env/fake_gpu/device.h"

// Behind the device language, for its macros.
#include "env/gpu/device/kernels.cu"
#define FAKE_GPU
#include "tests/env/on_gpu/candidates.cu"
#define twin twin_end
#include "tests/env/on_gpu/candidates_twin.cu"
#undef twin

#include <cuda.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/env/fake_gpu/trace.h"
#include "tests/patience.h"

namespace {

using fake::Clock;
using fake::Work;

CUresult lost = CUDA_SUCCESS;  // of the context
bool events_lie = false;
CUmemGenericAllocationHandle imported = 0;
uint8_t* mapped = nullptr;  // memory that is shared with another process

void lose(CUresult how) { lost = how; }
void endless() {
  for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// What work takes: more than the CPU that plays it, or the host's clock would contradict the device's. A record also
// stands for the baseline's work, which this driver does not see.
using std::chrono::microseconds;
constexpr microseconds kStart{2}, kRecord{temper::kPatience > 1 ? 800 : 60};
constexpr Clock::Duration kThread{5}, kGroup{1};  // a group is 8 bytes that are set or copied

void sleep(microseconds time) { Clock::pass(time); }
void pass_for_bytes(size_t bytes) { Clock::pass(kStart + int64_t(bytes / 8) * kGroup); }

// What hardly a kernel on a GPU can do: keep count of its calls, reach the events' times, find the memory
// that is shared, start another unseen.
void slow_at_first(void** addresses) {
  static int calls = 0;
  if (++calls >= 15 && calls <= 18) sleep(microseconds(5000));  // the first that are timed
  fake::Kernel<&good>::call(addresses);
}
void ever_faster(void** addresses) {
  static int calls = 0;
  ++calls;  // from 15 on they are timed, from 25 on by the audit
  sleep(microseconds(calls < 20 ? 40'000 : calls < 39 ? 2'000 : 0));
  fake::Kernel<&good>::call(addresses);
}
void changes_an_input_once(void** addresses) {
  static int calls = 0;
  ++calls == 18 ? fake::Kernel<&input_changed>::call(addresses) : fake::Kernel<&good>::call(addresses);
}
void shortens_its_time(void** addresses) {
  events_lie = true;
  sleep(microseconds(200));  // less than what the host's clock takes for long
  fake::Kernel<&good>::call(addresses);
}
void shortens_a_long_time(void** addresses) {
  events_lie = true;
  sleep(microseconds(40'000));
  std::this_thread::sleep_for(microseconds(40'000));  // for the host's clock
  fake::Kernel<&good>::call(addresses);
}
void changes_what_was_given(void** addresses) {
  fake::Kernel<&good>::call(addresses);
  ++*mapped;
}
void sleeps(void** addresses) {
  sleep(microseconds(3000));
  fake::Kernel<&good>::call(addresses);
}
int elements_of(void** addresses) { return *static_cast<const int*>(addresses[3]); }
void slow_at_2001(void** addresses) {
  if (elements_of(addresses) == 2001) sleep(microseconds(50));
  fake::Kernel<&good>::call(addresses);
}
void slow_at_30001(void** addresses) {
  if (elements_of(addresses) == 30001) sleep(microseconds(100'000));
  fake::Kernel<&good>::call(addresses);
}
float table[3] = {1, 2, 3};
void changes_a_table(void** addresses) {
  fake::Kernel<&good>::call(addresses);
  table[1] += 1;
}
void starts_another(void** addresses) {
  const auto begin = Clock::now();
  fake::Kernel<&good>::call(addresses);
  fake::trace(Work::kKernel, begin, {{1, 1, 1}, {1, 1, 1}});
}

int setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

struct Kernel {
  void (*call)(void** addresses);
  std::span<const size_t> offsets;  // of the parameters in a buffer
};

const std::map<std::string, Kernel>& kernels() {
  // clang-format off: it takes the macros for blocks, and never settles.
  static const std::map<std::string, Kernel> known{
#define FAKE_KERNEL(name) {#name, {fake::Kernel<&name>::call, fake::Kernel<&name>::kOffsets}}
#define FAKE_OWN(name) {#name, {fake::Kernel<&temper::env::name>::call, fake::Kernel<&temper::env::name>::kOffsets}}
#define FAKE_GOOD(name) {#name, {name, fake::Kernel<&good>::kOffsets}}
      FAKE_OWN(temper_draw),
      FAKE_OWN(temper_check_draws),
      FAKE_OWN(temper_fill_zones),
      FAKE_OWN(temper_check_zones),
      FAKE_OWN(temper_digest),
      FAKE_OWN(temper_flush),
      FAKE_OWN(temper_wait),
      FAKE_OWN(temper_compare),
      FAKE_OWN(temper_compare_integers),
      FAKE_KERNEL(good),
      FAKE_KERNEL(nothing),
      FAKE_KERNEL(zeros),
      FAKE_KERNEL(input_copied),
      FAKE_KERNEL(last_tile_missing),
      FAKE_KERNEL(one_element_wrong),
      FAKE_KERNEL(one_element_far_off),
      FAKE_KERNEL(wrong_when_large),
      FAKE_KERNEL(one_byte_past),
      FAKE_KERNEL(row_past),
      FAKE_KERNEL(before_the_output),
      FAKE_KERNEL(reads_past),
      FAKE_KERNEL(reads_before),
      FAKE_KERNEL(reads_whole_groups),
      FAKE_KERNEL(input_changed),
      FAKE_KERNEL(second_input_changed),
      FAKE_KERNEL(input_zeroed),
      FAKE_KERNEL(only_when_poisoned),
      FAKE_KERNEL(answer_of_last_call),
      FAKE_KERNEL(through_workspace),
      FAKE_KERNEL(from_workspace),
      FAKE_KERNEL(past_workspace),
      FAKE_KERNEL(twin),
      FAKE_KERNEL(twin_end),
      FAKE_KERNEL(good_by_map),
      FAKE_KERNEL(product),
      FAKE_KERNEL(product_bf16),
      FAKE_KERNEL(gather),
      FAKE_KERNEL(half_gelu),
      FAKE_KERNEL(nan_where_nan),
      FAKE_KERNEL(nan_lost),
      FAKE_KERNEL(largest_for_infinity),
      FAKE_KERNEL(copied),
      FAKE_KERNEL(wrong_below_zero),
      FAKE_KERNEL(wrong_below_zero_of_second),
      FAKE_KERNEL(wrong_where_small),
      FAKE_KERNEL(idle),
      FAKE_GOOD(sleeps),
      FAKE_GOOD(slow_at_2001),
      FAKE_GOOD(slow_at_30001),
      FAKE_GOOD(slow_at_first),
      FAKE_GOOD(ever_faster),
      FAKE_GOOD(changes_an_input_once),
      FAKE_GOOD(shortens_its_time),
      FAKE_GOOD(shortens_a_long_time),
      FAKE_GOOD(changes_what_was_given),
      FAKE_GOOD(starts_another),
      FAKE_GOOD(changes_a_table),
      {"wild", {[](void**) { lose(CUDA_ERROR_ILLEGAL_ADDRESS); }, {}}},
      {"trapped", {[](void**) { lose(CUDA_ERROR_LAUNCH_FAILED); }, {}}},
      {"endless", {[](void**) { endless(); }, {}}},
  };
  // clang-format on
  return known;
}

// A cubin is no file here. It may say "alias NAME KERNEL": then its kernel NAME is that one. "broken" does not load.
struct Module {
  std::string name, kernel;
};

Module module_of(const char* image) {
  Module module;
  char name[32] = {}, kernel[32] = {};
  if (std::sscanf(image, "alias %31s %31s", name, kernel) == 2) module = {name, kernel};
  return module;
}

struct Function {
  std::string name;
  Kernel kernel;
  int shared = 48 << 10;
};

constexpr int kMostShared = 227 << 10;
constexpr size_t kMemoryBytes = 64 << 20;

// Addresses that are reserved and not mapped are no memory of this process either.
sigjmp_buf at_fault;
void run(const Function& function, void** addresses) {
  struct sigaction leave {
  }, before{};
  leave.sa_handler = [](int) { siglongjmp(at_fault, 1); };
  ::sigaction(SIGSEGV, &leave, &before);
  if (sigsetjmp(at_fault, 1) == 0)
    function.kernel.call(addresses);
  else
    lose(CUDA_ERROR_ILLEGAL_ADDRESS);
  ::sigaction(SIGSEGV, &before, nullptr);
}

template <class Memory>
CUresult memset(CUdeviceptr to, Memory value, size_t count) {
  const auto begin = Clock::now();
  std::fill_n(reinterpret_cast<Memory*>(to), count, value);
  pass_for_bytes(count * sizeof(Memory));
  fake::trace(Work::kMemset, begin);
  return lost;
}

}  // namespace

extern "C" {

// Of its management library: one process at work, if any.
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = nullptr;
  return std::strcmp(uuid, "GPU-42424242-4242-4242-4242-424242424242") != 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* processes) {
  const unsigned long long pid = unsigned(setting("FAKE_GPU_NEIGHBOUR", 0)), bytes = 5 << 20;
  std::memcpy(processes, &pid, sizeof pid);
  std::memcpy(static_cast<char*>(processes) + sizeof pid, &bytes, sizeof bytes);
  return *count = pid != 0, 0;
}

CUresult cuInit(unsigned) {
  std::this_thread::sleep_for(std::chrono::milliseconds(setting("FAKE_GPU_START_MS", 0)));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = setting("FAKE_GPU_COUNT", 1), CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  return std::strncpy(name, "a CPU", size_t(size)), CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  std::memset(uuid, 0x42, sizeof *uuid);
  return CUDA_SUCCESS;
}
// What else there is to ask, Temper's table of the usual GPU answers.
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return *value = setting("FAKE_GPU_CAPABILITY", 9), CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return *value = 0, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return *value = 1, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return *value = 1 << 16, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return *value = 1 << 30, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return *value = 8192, CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) { return *bytes = kMemoryBytes, CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) {
  return *version = setting("FAKE_GPU_DRIVER", 13000), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) { return *context = nullptr, CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuCtxResetPersistingL2Cache() { return lost; }
CUresult cuCtxGetLimit(size_t* value, CUlimit) { return *value = 0, lost; }
CUresult cuCtxSetLimit(CUlimit, size_t) { return lost; }
CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = code == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
          : code == CUDA_ERROR_NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
          : code == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                             : "CUDA_ERROR_INVALID_VALUE";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** words) { return *words = "words", CUDA_SUCCESS; }
CUresult cuMemGetInfo(size_t* free, size_t* all) { return *free = *all = kMemoryBytes, lost; }

CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes) {
  if (bytes > kMemoryBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = CUdeviceptr(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return lost;
}
CUresult cuMemFree(CUdeviceptr memory) { return std::free(reinterpret_cast<void*>(memory)), lost; }

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  return *bytes = 4096, CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*,
                     unsigned long long) {
  const int file = ::memfd_create("fake", 0);
  if (::ftruncate(file, off_t(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  return *handle = CUmemGenericAllocationHandle(file), CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  void* const place = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return *address = CUdeviceptr(place), place == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  void* const place = ::mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_FIXED, int(handle), 0);
  if (handle == imported) mapped = static_cast<uint8_t*>(place);
  return place == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }
CUresult cuMemExportToShareableHandle(void* handle, CUmemGenericAllocationHandle memory,
                                      CUmemAllocationHandleType, unsigned long long) {
  const int file = ::dup(int(memory));
  std::memcpy(handle, &file, sizeof file);
  return CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shared,
                                        CUmemAllocationHandleType) {
  return imported = *handle = CUmemGenericAllocationHandle(intptr_t(shared)), CUDA_SUCCESS;
}

// Everything is done at once, in the order of the calls: there is one stream.
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream) {
  return memset(to, value, count);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream) {
  return memset(to, value, count);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream) {
  return memset(to, value, count);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  const auto begin = Clock::now();
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  pass_for_bytes(bytes);
  fake::trace(Work::kCopy, begin);
  return lost;
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), lost;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const std::string begin(static_cast<const char*>(image), 64);
  if (begin.starts_with("broken")) return CUDA_ERROR_INVALID_VALUE;
  return *module = reinterpret_cast<CUmodule>(new Module(module_of(begin.c_str()))), lost;
}
CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<Module*>(module);
  return events_lie = false, lost;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto& own = *reinterpret_cast<const Module*>(module);
  const auto known = kernels().find(own.name == name ? own.kernel : name);
  if (known == kernels().end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(new Function{name, known->second});
  return lost;
}
// One by its name.
CUresult cuModuleGetGlobal(CUdeviceptr* data, size_t* bytes, CUmodule, const char* name) {
  if (std::string(name) != "table") return CUDA_ERROR_NOT_FOUND;
  *data = CUdeviceptr(table);
  *bytes = sizeof table;
  return lost;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return lost;
  if (value > kMostShared) return CUDA_ERROR_INVALID_VALUE;
  reinterpret_cast<Function*>(function)->shared = value;
  return lost;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction kernel, void** addresses, void** extra) {
  const auto& function = *reinterpret_cast<const Function*>(kernel);
  if (lost != CUDA_SUCCESS) return lost;
  if (config->blockDimX > 1024 || int(config->sharedMemBytes) > function.shared)
    return CUDA_ERROR_INVALID_VALUE;
  fake::grid_dim = {config->gridDimX, config->gridDimY, config->gridDimZ};
  fake::block_dim = {config->blockDimX, config->blockDimY, config->blockDimZ};
  std::vector<void*> unpacked;
  if (extra != nullptr)
    for (const size_t offset : function.kernel.offsets)
      unpacked.push_back(static_cast<char*>(extra[1]) + offset);
  const auto begin = Clock::now();
  run(function, addresses != nullptr ? addresses : unpacked.data());
  Clock::pass(kStart +
              kThread * int64_t(config->gridDimX * config->gridDimY * config->blockDimX * config->blockDimY));
  fake::trace(Work::kKernel, begin,
              {{config->gridDimX, config->gridDimY, config->gridDimZ},
               {config->blockDimX, config->blockDimY, config->blockDimZ}});
  return CUDA_SUCCESS;  // what a kernel does to the context is told by the next call
}

// A map here is its address, its kinds, its sizes, its strides and its box.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  if (CUdeviceptr(map) % 64 != 0 || CUdeviceptr(address) % 16 != 0 || rank < 1 || rank > 5)
    return CUDA_ERROR_INVALID_VALUE;
  map->opaque[0] = CUdeviceptr(address);
  map->opaque[1] =
      cuuint64_t(rank) | cuuint64_t(type) << 8 | cuuint64_t(swizzle) << 16 | cuuint64_t(fill) << 24;
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (steps[i] != 1) return CUDA_ERROR_INVALID_VALUE;
    map->opaque[2 + i] = sizes[i];
    if (i + 1 < rank) map->opaque[7 + i] = strides[i];
    map->opaque[11 + i] = box[i];
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) { return *stream = nullptr, lost; }
CUresult cuStreamSynchronize(CUstream) { return lost; }
CUresult cuEventCreate(CUevent* event, unsigned) {
  return *event = reinterpret_cast<CUevent>(new Clock::time_point), lost;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  Clock::pass(kRecord);
  return *reinterpret_cast<Clock::time_point*>(event) = Clock::now(), lost;
}
CUresult cuEventSynchronize(CUevent) { return lost; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  const auto& from = *reinterpret_cast<const Clock::time_point*>(begin);
  *milliseconds =
      std::chrono::duration<float, std::milli>(*reinterpret_cast<const Clock::time_point*>(end) - from)
          .count() *
      (events_lie ? 0.02f : 1.0f);
  return lost;
}
}
