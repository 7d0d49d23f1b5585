#include "env/gpu/runner/tracer.h"

#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"

namespace temper::env {
namespace {

constexpr size_t kBufferBytes = size_t(256) << 10;
// Records kernels, memsets and copies in all streams of a context, without serialising them.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET};

#define TEMPER_CUPTI_CALLS(X)       \
  X(cuptiActivityRegisterCallbacks) \
  X(cuptiActivityEnable)            \
  X(cuptiActivityFlushAll)          \
  X(cuptiActivityGetNextRecord)     \
  X(cuptiGetTimestamp)              \
  X(cuptiGetResultString)

struct Cupti {
#define TEMPER_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
  TEMPER_CUPTI_CALLS(TEMPER_CUPTI_MEMBER)
#undef TEMPER_CUPTI_MEMBER
};

// By the loader's own search first, then where the build has seen one.
void* open_cupti() {
  std::string problem;
  for (const char* path : {"libcupti.so.13", TEMPER_CUPTI_PATHS}) {
    if (void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
    const char* const error = ::dlerror();
    if (problem.empty()) problem = error != nullptr ? error : "libcupti.so.13 cannot be loaded";
  }
  throw WorldError("{}", problem);
}

Cupti load() {
  void* const library = open_cupti();
  Cupti loaded;
#define TEMPER_CUPTI_LOAD(name)                                                   \
  loaded.name = reinterpret_cast<decltype(loaded.name)>(::dlsym(library, #name)); \
  if (loaded.name == nullptr) throw WorldError("libcupti.so.13 has no {}", #name);
  TEMPER_CUPTI_CALLS(TEMPER_CUPTI_LOAD)
#undef TEMPER_CUPTI_LOAD
  return loaded;
}

const Cupti& cupti() {
  static const Cupti loaded = load();
  return loaded;
}

void check(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cupti().cuptiGetResultString(result, &text);
  throw WorldError("{}: {}", call, text != nullptr ? text : "unknown error");
}

// CUPTI's callbacks have no place for a pointer, and come from any thread.
std::mutex guard;
std::vector<DeviceRecord> records;

DeviceRecord record_of(const CUpti_Activity* activity) {
  if (activity->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(activity);
    return {DeviceRecord::Kind::kCopy, copy->start, copy->end};
  }
  if (activity->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto* memset = reinterpret_cast<const CUpti_ActivityMemset4*>(activity);
    return {DeviceRecord::Kind::kMemset, memset->start, memset->end};
  }
  const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(activity);
  const auto extent = [](int32_t x, int32_t y, int32_t z) {
    return Extent{uint32_t(x), uint32_t(y), uint32_t(z)};
  };
  return {DeviceRecord::Kind::kKernel, kernel->start, kernel->end,
          extent(kernel->gridX, kernel->gridY, kernel->gridZ),
          extent(kernel->blockX, kernel->blockY, kernel->blockZ)};
}

bool is_wanted(CUpti_ActivityKind kind) {
  for (const CUpti_ActivityKind wanted : kKinds)
    if (kind == wanted) return true;
  return kind == CUPTI_ACTIVITY_KIND_KERNEL;
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  const std::lock_guard<std::mutex> lock(guard);
  CUpti_Activity* activity = nullptr;
  while (valid > 0 && cupti().cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS)
    if (is_wanted(activity->kind)) records.push_back(record_of(activity));
  std::free(buffer);
}

}  // namespace

Tracer::Tracer() {
  check(cupti().cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
  for (const CUpti_ActivityKind kind : kKinds)
    check(cupti().cuptiActivityEnable(kind), "cuptiActivityEnable");
}

std::vector<DeviceRecord> Tracer::take(bool all) {
  check(cupti().cuptiActivityFlushAll(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0), "cuptiActivityFlushAll");
  const std::lock_guard<std::mutex> lock(guard);
  return std::exchange(records, {});
}

uint64_t Tracer::now_ns() const {
  uint64_t now = 0;
  check(cupti().cuptiGetTimestamp(&now), "cuptiGetTimestamp");
  return now;
}

}  // namespace temper::env
