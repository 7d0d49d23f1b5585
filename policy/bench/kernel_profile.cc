// The one file that knows CUPTI.

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cxxabi.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "base/error.h"
#include "policy/bench/kernel_profile.h"
#include "policy/ops/cuda/ops.h"

namespace temper::policy {
namespace {

constexpr size_t kBufferBytes = size_t(4) << 20;
constexpr CUpti_ActivityKind kActivities[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                              CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

struct Records {
  std::map<std::string, KernelProfile::Share> kinds;
  std::vector<DeviceWork> work;
};
Records* records = nullptr;  // CUPTI's callbacks have no place for a pointer

constexpr const char *kBetweenGpus = "between GPUs", *kWithHost = "between host and GPU",
                     *kClearing = "copies and clearing";

void check_cupti(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = "unknown";
  cuptiGetResultString(result, &text);
  throw WorldError("CUPTI: {}: {}", what, text);
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

bool holds_one_of(const std::string& name, std::initializer_list<const char*> words) {
  for (const char* word : words)
    if (name.find(word) != std::string::npos) return true;
  return false;
}

// temper::policy::cuda::(anonymous namespace)::swiglu_kernel<…>(…) is swiglu.
std::string kind_of(const std::string& name) {
  const bool ours = name.find("temper::policy::cuda::") != std::string::npos;
  if (ours && name.find("paged_attention") != std::string::npos) return "attention over pages";
  if (ours) {
    const size_t end = name.find("_kernel"), begin = name.rfind("::", end);
    return end == std::string::npos ? "other" : name.substr(begin + 2, end - begin - 2);
  }
  if (holds_one_of(name, {"nccl"})) return kBetweenGpus;
  if (holds_one_of(name, {"sdpa", "fmha", "flash", "cudnn"})) return "attention";
  if (holds_one_of(name, {"nvjet", "gemm", "cutlass", "xmma"})) return "products";
  return "other";
}

void add(const std::string& kind, uint64_t begin_ns, uint64_t end_ns) {
  KernelProfile::Share& share = records->kinds[kind];
  share.seconds += double(end_ns - begin_ns) * 1e-9;
  ++share.launches;
  const bool moves = kind == kBetweenGpus || kind == kWithHost;
  records->work.push_back({.time = {begin_ns, end_ns}, .kind = kind, .moves = moves});
}

const char* kind_of(const CUpti_ActivityMemcpy6& copy) {
  switch (copy.copyKind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return kWithHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return kBetweenGpus;
    default:
      return kClearing;
  }
}

void add_record(const CUpti_Activity* record) {
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
    return add(kind_of(*copy), copy->start, copy->end);
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto* clear = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
    return add(kClearing, clear->start, clear->end);
  }
  const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
  add(kind_of(demangled(kernel->name)), kernel->start, kernel->end);
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t used) {
  CUpti_Activity* record = nullptr;
  while (records && cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) add_record(record);
  std::free(buffer);
}

}  // namespace

struct KernelProfile::Impl {
  Records records;
};

KernelProfile::KernelProfile() : impl_(std::make_unique<Impl>()) {
  TEMPER_CHECK(records == nullptr);
  check_cupti(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "callbacks");
  cuda::check(cudaDeviceSynchronize(), "profile");
  for (const auto kind : kActivities) check_cupti(cuptiActivityEnable(kind), "enable");
  records = &impl_->records;
}

KernelProfile::~KernelProfile() {
  for (const auto kind : kActivities) cuptiActivityDisable(kind);
  records = nullptr;
}

KernelProfile::Found KernelProfile::stop() {
  cuda::check(cudaDeviceSynchronize(), "profile");
  check_cupti(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush");
  Records& found = impl_->records;
  const Timeline timeline = divide(times_of(found.work, false), times_of(found.work, true));
  return {found.kinds, timeline, waits_between(std::move(found.work))};
}

}  // namespace temper::policy
