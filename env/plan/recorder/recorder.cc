#include "env/plan/recorder/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "env/plan/recorder/errors.h"

namespace temper::env {
namespace {

constexpr uint64_t kMaxRecordedBytes = 64 << 20;  // of arguments, in one run

int error_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return kSuccess;
    case Refusal::kConfiguration:
      return kInvalidConfiguration;
    case Refusal::kValue:
      return kInvalidValue;
    case Refusal::kResources:
      return kLaunchOutOfResources;
    case Refusal::kCooperative:
      return kCooperativeLaunchTooLarge;
    case Refusal::kCluster:
      return kInvalidClusterSize;
  }
  return kInvalidValue;
}

// The addresses in one parameter, at whatever place of it; and a host pointer where a whole parameter is one.
void find_pointers(const Addresses& addresses, const CubinParameter& parameter, size_t number,
                   RawLaunch& raw) {
  const std::vector<uint8_t>& bytes = raw.launch.arguments;
  for (uint32_t at = parameter.offset; at + 8 <= parameter.offset + parameter.bytes; ++at) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, 8);
    if (const auto place = addresses.find(value)) {
      raw.pointers.emplace(at, *place);
      at += 7;
    } else if (parameter.bytes == 8 && readable_on_host(reinterpret_cast<const void*>(value))) {
      fail_plan("host_pointer",
                fmt::format("argument {} of {} points to host memory, which kernels cannot read; pass "
                            "values, or a structure by value",
                            number + 1, raw.kernel_name));
    }
  }
}

}  // namespace

Recorder& Recorder::get() {
  static Recorder recorder;
  return recorder;
}

void Recorder::set_up(Cubin cubin, const GpuTarget& target, int64_t workspace_bytes) {
  cubin_ = std::move(cubin);
  target_ = target;
  workspace_bytes_ = uint64_t(workspace_bytes);
  for (const CubinKernel& kernel : cubin_.kernels) settings_.push_back({kernel.name, 0, -1, false});
  for (size_t i = 0; i < settings_.size(); ++i) functions_[handle(int(i))] = int(i);
}

void Recorder::begin_run(const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs) {
  addresses_.begin_run(inputs, outputs);
  recording_ = {};
  argument_bytes_ = 0;
  last_error_ = kSuccess;
  refused_.clear();
}

Recording Recorder::end_run() {
  if (last_error_ != kSuccess || (recording_.steps.empty() && !refused_.empty()))
    fail(VerdictKind::kFailRuntime, "cuda_error", refused_);
  if (recording_.steps.empty()) fail_plan("no_launch", "launch starts no kernel");
  recording_.buffers = addresses_.of_this_run();
  return std::move(recording_);
}

void Recorder::register_function(const void* host, const char* device_name) {
  for (size_t i = 0; i < cubin_.kernels.size(); ++i)
    if (cubin_.kernels[i].name == device_name) functions_[host] = int(i);
}

int Recorder::find_kernel(const void* function) const {
  const auto it = functions_.find(function);
  return it == functions_.end() ? -1 : it->second;
}

int Recorder::launch(int index, KernelLaunch launch, void** arguments) {
  const CubinKernel& its = kernel(index);
  const LaunchCheck check = check_launch(its, settings(index), launch, target_);
  if (check.refusal != Refusal::kNone)
    return error(error_of(check.refusal), its.name + " has " + check.words);
  RawLaunch raw{.launch = std::move(launch), .pointers = {}, .kernel_name = its.name};
  raw.launch.kernel = uint32_t(index);
  raw.launch.arguments.assign(its.parameter_bytes(), 0);
  for (size_t i = 0; i < its.parameters.size(); ++i) {
    const CubinParameter& parameter = its.parameters[i];
    std::memcpy(raw.launch.arguments.data() + parameter.offset, arguments[i], parameter.bytes);
    find_pointers(addresses_, parameter, i, raw);
  }
  argument_bytes_ += raw.launch.arguments.size();
  add(std::move(raw));
  return kSuccess;
}

int Recorder::allocate(uint64_t* address, uint64_t bytes) {
  *address = 0;
  if (bytes == 0) return kSuccess;
  if (bytes > free_bytes())
    return error(kMemoryAllocation,
                 fmt::format("an allocation of {} bytes; {} are free", bytes, free_bytes()));
  *address = addresses_.allocate(bytes);
  return *address != 0 ? kSuccess : error(kMemoryAllocation, "too many allocations");
}

int Recorder::release(uint64_t address) {
  if (address == 0 || addresses_.release(address)) return kSuccess;
  return error(kInvalidValue, "cudaFree of what cudaMalloc did not give out");
}

void Recorder::memset(const Place& to, uint8_t value, int64_t bytes) {
  if (bytes > 0) add(RawMemset{to, value, bytes});
}

void Recorder::copy(const Place& to, const Place& from, int64_t bytes) {
  if (bytes > 0) add(RawCopy{to, from, bytes});
}

void Recorder::add(RawStep step) {
  if (recording_.steps.size() >= kMaxPlanSteps || argument_bytes_ > kMaxRecordedBytes)
    fail_plan("too_many_steps", fmt::format("more than {} launches in one call", recording_.steps.size()));
  recording_.steps.push_back(std::move(step));
}

int Recorder::error(int code, std::string words) {
  last_error_ = code;
  refused_ = fmt::format("{}{}{}", error_name(code), words.empty() ? "" : ": ", words);
  return code;
}

int Recorder::take_last_error() { return std::exchange(last_error_, int(kSuccess)); }

}  // namespace temper::env
