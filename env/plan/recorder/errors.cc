#include "env/plan/recorder/errors.h"

namespace temper::env {
namespace {

struct Words {
  int error;
  const char *name, *text;
};

constexpr Words kWords[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {kInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {kInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {kInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {kLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {kCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {kInvalidClusterSize, "cudaErrorInvalidClusterSize", "invalid cluster configuration"},
};

const Words* find(int error) {
  for (const Words& words : kWords)
    if (words.error == error) return &words;
  return nullptr;
}

}  // namespace

const char* error_name(int error) {
  const Words* words = find(error);
  return words != nullptr ? words->name : "cudaErrorUnknown";
}

const char* error_text(int error) {
  const Words* words = find(error);
  return words != nullptr ? words->text : "unknown error";
}

}  // namespace temper::env
