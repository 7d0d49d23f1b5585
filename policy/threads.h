#pragma once
#include <cstdint>
#include <functional>

namespace temper::policy {

// Sets the number of threads that the policy computes with; 0 stands for one per allowed core
// (base/machine/cores.h).
void use_threads(int64_t threads);

// Threads that files are read, written and hashed with: one per allowed core, at most 8.
int file_threads();

// Calls task(i, thread) for each i of [0, count), on at most `threads` threads including this one. After an error no
// further task is begun, and the first error is thrown here.
void on_threads(int64_t count, int threads, const std::function<void(int64_t i, int thread)>& task);

}  // namespace temper::policy
