#pragma once
// A CUDA candidate on the CPU, for tests without a GPU: the device language and the runtime calls as far as
// traces use them. translate.h makes C++ of a candidate, which includes this file.
//
// Blocks run one after another. The threads of a block are fibers: one runs until it waits at a barrier or in
// a shuffle, then the next one, in the order that `thread_order` says; so what depends on the order shows in
// one of them. Shared memory begins with what the block before left there, memory from cudaMallocAsync with
// NaN.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __restrict__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
using cudaStream_t = void*;

// Sixteen bits of a float, rounded to nearest even.
struct __nv_bfloat16 {
  uint16_t bits = 0;
  __nv_bfloat16() = default;
  __nv_bfloat16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, 4);
    bits = std::isnan(value) ? 0x7FFF : uint16_t((word + 0x7FFF + (word >> 16 & 1)) >> 16);
  }
  operator float() const {
    const uint32_t word = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
  __nv_bfloat16& operator+=(float value) { return *this = float(*this) + value; }
};
struct __half {
  _Float16 value = 0;
  __half() = default;
  __half(float value) : value(_Float16(value)) {}
  operator float() const { return float(value); }
  __half& operator+=(float more) { return *this = float(*this) + more; }
};

inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float normcdff(float x) { return 0.5f * std::erfc(-x * 0.70710678f); }

namespace cuda_on_cpu {

inline constexpr size_t kStack = 64 << 10;
inline constexpr unsigned kMaxThreads = 1024;

extern "C" __attribute__((visibility("hidden"))) void cuda_on_cpu_switch(void** from, void* to);
asm(R"(
.text
.globl cuda_on_cpu_switch
.hidden cuda_on_cpu_switch
.type cuda_on_cpu_switch, @function
cuda_on_cpu_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size cuda_on_cpu_switch, .-cuda_on_cpu_switch
)");

enum class State { kReady, kBarrier, kShuffle, kDone };

struct Fiber {
  void* stack_pointer = nullptr;
  std::unique_ptr<char[]> stack;
  dim3 thread;
  State state = State::kDone;
  float given = 0;  // to the shuffle
};

struct Machine {
  std::vector<Fiber> fibers;
  void* scheduler = nullptr;
  unsigned current = 0, threads = 0;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  dim3 block_index, block_dim, grid_dim;
  std::map<void*, std::unique_ptr<char[]>> workspaces;
};
static Machine machine;

inline void leave(State state) {
  Fiber& fiber = machine.fibers[machine.current];
  fiber.state = state;
  cuda_on_cpu_switch(&fiber.stack_pointer, machine.scheduler);
}

inline void fiber_main() {
  machine.body(machine.argument);
  leave(State::kDone);
  std::abort();
}

inline void begin(Fiber& fiber) {
  if (!fiber.stack) fiber.stack = std::make_unique<char[]>(kStack);
  auto top = (reinterpret_cast<uintptr_t>(fiber.stack.get()) + kStack) & ~uintptr_t(15);
  auto* slots = reinterpret_cast<void**>(top) - 8;  // six registers, the address to return to, alignment
  std::memset(slots, 0, 64);
  slots[6] = reinterpret_cast<void*>(&fiber_main);
  fiber.stack_pointer = slots;
  fiber.state = State::kReady;
}

inline void resume(unsigned thread) {
  machine.current = thread;
  cuda_on_cpu_switch(&machine.scheduler, machine.fibers[thread].stack_pointer);
}

}  // namespace cuda_on_cpu

// 0: threads in order; 1: in reverse; 2: odd ones first.
static int thread_order = 0;

namespace cuda_on_cpu {

inline unsigned in_order(unsigned step) {
  const unsigned n = machine.threads;
  if (thread_order == 1) return n - 1 - step;
  if (thread_order == 2) return step < n / 2 ? 2 * step + 1 : 2 * (step - n / 2);
  return step;
}

// A warp goes on from a shuffle when all its threads that have not ended are there.
inline bool release_warps() {
  bool any = false;
  for (unsigned first = 0; first < machine.threads; first += 32) {
    const unsigned end = std::min(first + 32, machine.threads);
    bool waiting = false, all = true;
    for (unsigned t = first; t < end; ++t) {
      waiting = waiting || machine.fibers[t].state == State::kShuffle;
      all = all && (machine.fibers[t].state == State::kShuffle || machine.fibers[t].state == State::kDone);
    }
    if (!waiting || !all) continue;
    any = true;
    for (unsigned t = first; t < end; ++t)
      if (machine.fibers[t].state == State::kShuffle) machine.fibers[t].state = State::kReady;
  }
  return any;
}

inline bool release_barrier() {
  bool any = false;
  for (unsigned t = 0; t < machine.threads; ++t) {
    any = any || machine.fibers[t].state == State::kBarrier;
    if (machine.fibers[t].state == State::kShuffle) return false;
  }
  if (!any) return false;
  for (unsigned t = 0; t < machine.threads; ++t)
    if (machine.fibers[t].state == State::kBarrier) machine.fibers[t].state = State::kReady;
  return true;
}

inline void run_block() {
  for (unsigned t = 0; t < machine.threads; ++t) begin(machine.fibers[t]);
  for (;;) {
    bool ran = false;
    for (unsigned step = 0; step < machine.threads; ++step) {
      const unsigned t = in_order(step);
      if (machine.fibers[t].state != State::kReady) continue;
      resume(t);
      ran = true;
    }
    if (ran) continue;
    if (release_warps() || release_barrier()) continue;
    for (unsigned t = 0; t < machine.threads; ++t)
      if (machine.fibers[t].state != State::kDone) throw std::runtime_error("threads wait for each other");
    return;
  }
}

inline void check_launch(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (threads == 0 || threads > kMaxThreads) throw std::runtime_error("invalid block");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7FFFFFFFu || grid.y > 65535 || grid.z > 65535)
    throw std::runtime_error("invalid grid");
}

// What stands between <<< and >>>.
struct Launch {
  dim3 grid, block;
  Launch(dim3 grid, dim3 block, size_t = 0, cudaStream_t = nullptr) : grid(grid), block(block) {}

  template <class Kernel>
  void run(Kernel kernel) {
    check_launch(grid, block);
    machine.threads = block.x * block.y * block.z;
    if (machine.fibers.size() < machine.threads) machine.fibers.resize(machine.threads);
    for (unsigned t = 0; t < machine.threads; ++t)
      machine.fibers[t].thread = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
    machine.block_dim = block;
    machine.grid_dim = grid;
    machine.body = [](void* argument) { (*static_cast<Kernel*>(argument))(); };
    machine.argument = &kernel;
    for (unsigned z = 0; z < grid.z; ++z)
      for (unsigned y = 0; y < grid.y; ++y)
        for (unsigned x = 0; x < grid.x; ++x) {
          machine.block_index = dim3(x, y, z);
          run_block();
        }
  }
};

inline float shuffled(float value, unsigned from, bool valid) {
  machine.fibers[machine.current].given = value;
  const unsigned self = machine.current, first = self / 32 * 32;
  leave(State::kShuffle);
  const float taken = machine.fibers[first + from % 32].given;
  leave(State::kShuffle);  // nobody gives anew before all have taken
  return valid ? taken : value;
}
inline unsigned lane() { return machine.current % 32; }

}  // namespace cuda_on_cpu

#define threadIdx (cuda_on_cpu::machine.fibers[cuda_on_cpu::machine.current].thread)
#define blockIdx (cuda_on_cpu::machine.block_index)
#define blockDim (cuda_on_cpu::machine.block_dim)
#define gridDim (cuda_on_cpu::machine.grid_dim)

inline void __syncthreads() { cuda_on_cpu::leave(cuda_on_cpu::State::kBarrier); }
inline float __shfl_sync(unsigned, float value, int from) {
  return cuda_on_cpu::shuffled(value, unsigned(from), true);
}
inline float __shfl_xor_sync(unsigned, float value, int mask) {
  return cuda_on_cpu::shuffled(value, cuda_on_cpu::lane() ^ unsigned(mask), true);
}
inline float __shfl_up_sync(unsigned, float value, int by) {
  const int from = int(cuda_on_cpu::lane()) - by;
  return cuda_on_cpu::shuffled(value, unsigned(from), from >= 0);
}
inline float __shfl_down_sync(unsigned, float value, int by) {
  const int from = int(cuda_on_cpu::lane()) + by;
  return cuda_on_cpu::shuffled(value, unsigned(from), from < 32);
}
inline float atomicAdd(float* to, float value) { return std::exchange(*to, *to + value); }

template <class T>
int cudaMallocAsync(T** memory, size_t bytes, cudaStream_t) {
  auto owned = std::make_unique<char[]>(bytes + 16);
  std::memset(owned.get(), 0xFF, bytes);
  *memory = reinterpret_cast<T*>(owned.get());
  cuda_on_cpu::machine.workspaces[*memory] = std::move(owned);
  return 0;
}
inline int cudaFreeAsync(void* memory, cudaStream_t) {
  return cuda_on_cpu::machine.workspaces.erase(memory) == 1
             ? 0
             : throw std::runtime_error("free of what is not there");
}
inline int cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t = nullptr) {
  std::memset(memory, value, bytes);
  return 0;
}
