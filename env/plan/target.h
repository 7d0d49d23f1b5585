#pragma once
// The GPU that plans are made for, as far as host code can ask or feel it: a table of data, so that a
// launcher runs the same on a machine without one.

#include <cstdint>

namespace temper::env {

struct GpuTarget {
  char name[64] = "NVIDIA H200";
  char architecture[16] = "sm_90a";  // what nvcc compiles for
  int32_t major = 9, minor = 0;
  int32_t multiprocessors = 132;
  int32_t warp_size = 32;
  int32_t max_threads_per_block = 1024;
  int32_t max_threads_per_multiprocessor = 2048;
  int32_t max_blocks_per_multiprocessor = 32;
  int32_t registers_per_multiprocessor = 65536;  // and per block
  int32_t shared_per_block = 48 << 10;           // without asking
  int32_t shared_per_block_optin = 227 << 10;
  int32_t shared_per_multiprocessor = 228 << 10;
  int32_t reserved_shared_per_block = 1 << 10;
  int32_t portable_cluster = 8, max_cluster = 16;
  int32_t clock_khz = 1'980'000, memory_clock_khz = 3'201'000, memory_bus_bits = 6144;
  int32_t l2_bytes = 60 << 20;
  int64_t memory_bytes = 150'110'011'392;
};

}  // namespace temper::env
