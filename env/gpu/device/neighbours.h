#pragma once
// Which other processes compute on a GPU. The driver's management library is loaded on first use.

#include <string>

namespace temper::env {

// "process 123 (5120 MiB) and 1 more"; "" where nobody does, or where it cannot be known. Ancestors of this
// process are no strangers. `uuid` is as in GpuFacts; the caller has no context there yet.
std::string gpu_neighbours(const std::string& uuid);

}  // namespace temper::env
