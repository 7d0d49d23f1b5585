#pragma once
// The errors that the recording runtime gives, by CUDA's numbers.

namespace temper::env {

enum CudaError : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidConfiguration = 9,
  kInvalidPitchValue = 12,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kInvalidResourceHandle = 400,
  kLaunchOutOfResources = 701,
  kCooperativeLaunchTooLarge = 720,
  kNotSupported = 801,
  kInvalidClusterSize = 912,
};

const char* error_name(int error);  // "cudaErrorInvalidValue"
const char* error_text(int error);  // "invalid argument"

}  // namespace temper::env
