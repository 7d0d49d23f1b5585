#pragma once
// Hopper's bulk copies into shared memory and the barriers that tell of their arrival.
// Source: PTX ISA, cp.async.bulk and mbarrier.

#include <cstdint>

namespace temper::policy::cuda {

__device__ inline uint32_t address(const void* shared) { return uint32_t(__cvta_generic_to_shared(shared)); }

__device__ inline void init_barrier(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// After init_barrier and before any use; then a barrier of the block.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// An arrival after which so many bytes must have come, too.
__device__ inline void arrive_expecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Until the phase of that parity is over; of a barrier that was never used, phase 1 is.
__device__ inline void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Addresses and bytes are multiples of 16.
__device__ inline void copy_in(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// Between writes of threads to shared memory and a copy that may come to the same place.
__device__ inline void order_before_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace temper::policy::cuda
