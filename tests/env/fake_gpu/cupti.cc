// A CUPTI whose records are the fake driver's. It lives in the driver's library and goes by its own name,
// too.

#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "tests/env/fake_gpu/trace.h"

namespace fake {
namespace {

struct Traced {
  Work work;
  uint64_t begin_ns, end_ns;
  Extents kernel;
};

bool enabled = false;
std::deque<Traced> traced;
CUpti_BuffersCallbackRequestFunc give = nullptr;
CUpti_BuffersCallbackCompleteFunc take = nullptr;

uint64_t nanoseconds(Clock::time_point time) {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

template <class Record>
size_t put(uint8_t* to, CUpti_ActivityKind kind, const Traced& what) {
  Record record{};
  record.kind = kind;
  record.start = what.begin_ns;
  record.end = what.end_ns;
  if constexpr (requires { record.gridX; }) {
    const auto& [grid, block] = what.kernel;
    record.name = "of_an_earlier_module";  // as CUPTI often says
    record.gridX = int32_t(grid[0]), record.gridY = int32_t(grid[1]), record.gridZ = int32_t(grid[2]);
    record.blockX = int32_t(block[0]), record.blockY = int32_t(block[1]), record.blockZ = int32_t(block[2]);
  }
  std::memcpy(to, &record, sizeof record);
  return sizeof record;
}

size_t put(uint8_t* to, const Traced& what) {
  if (what.work == Work::kMemset) return put<CUpti_ActivityMemset4>(to, CUPTI_ACTIVITY_KIND_MEMSET, what);
  if (what.work == Work::kCopy) return put<CUpti_ActivityMemcpy6>(to, CUPTI_ACTIVITY_KIND_MEMCPY, what);
  return put<CUpti_ActivityKernel10>(to, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, what);
}

size_t size_of(const CUpti_Activity* record) {
  return record->kind == CUPTI_ACTIVITY_KIND_MEMSET   ? sizeof(CUpti_ActivityMemset4)
         : record->kind == CUPTI_ACTIVITY_KIND_MEMCPY ? sizeof(CUpti_ActivityMemcpy6)
                                                      : sizeof(CUpti_ActivityKernel10);
}

}  // namespace

void trace(Work work, Clock::time_point begin, const Extents& kernel) {
  static bool copied = false;
  if (work == Work::kCopy && !std::exchange(copied, true) &&
      std::getenv("FAKE_FIRST_COPY_IS_SLOW") != nullptr)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (enabled) traced.push_back({work, nanoseconds(begin), nanoseconds(Clock::now()), kernel});
}

}  // namespace fake

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  fake::give = request;
  fake::take = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
  if (std::getenv("FAKE_CUPTI_IS_HELD") != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  fake::enabled = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t) {
  while (!fake::traced.empty()) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0, most = 0, used = 0;
    fake::give(&buffer, &bytes, &most);
    for (; !fake::traced.empty() && used + sizeof(CUpti_ActivityKernel10) <= bytes; fake::traced.pop_front())
      used += fake::put(buffer + used, fake::traced.front());
    fake::take(nullptr, 0, buffer, bytes, used);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  uint8_t* const next =
      *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + fake::size_of(*record);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  return *record = reinterpret_cast<CUpti_Activity*>(next), CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* now) {
  return *now = fake::nanoseconds(fake::Clock::now()), CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
              ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
              : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}
}
