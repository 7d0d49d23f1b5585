#pragma once
// Blocks whose activations wait for the backward in the host's memory (KeepByBlock::offloads).
//
// These blocks take turns in two memories of the GPU. After the forward of such a block, its activations are copied to the host while
// other blocks compute. The next block in the same memory begins only when that copy has ended. The backward goes the opposite way:
// when a block no longer needs its memory, the activations of the next block in that memory are copied back, while other blocks
// compute. The last two blocks are never copied, because their activations are still on the GPU when the backward begins.
// Async: copies run beside the current stream, which waits for them where it needs the memory or what is in it.

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "policy/cuda/activations.h"

namespace temper::policy {

class OffloadedBlocks {
 public:
  OffloadedBlocks() = default;
  ~OffloadedBlocks();
  OffloadedBlocks(const OffloadedBlocks&) = delete;
  OffloadedBlocks& operator=(const OffloadedBlocks&) = delete;

  // A pack with these blocks is next. Takes the host's memory that it needs, unless there was a larger pack.
  // Errors: WorldError if the host has too little.
  void begin(std::span<const GpuBlock> blocks);
  // Around a block's forward and, from the last block to the first, its backward. They do nothing for other blocks.
  void before_forward(size_t block);
  void after_forward(size_t block);
  void before_backward(size_t block);
  void after_backward(size_t block);

 private:
  struct Copies {
    c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
    at::cuda::CUDAEvent done[kOffloadMemories];  // the last copy of each memory
  };
  bool moves(size_t place) const { return place + kOffloadMemories < offloaded_.size(); }
  std::byte* on_host(size_t place) const;
  void copy(size_t place, void* to, const void* from);
  void wait(size_t place);

  std::vector<std::optional<size_t>> places_;    // by block: which one of those that are offloaded
  std::vector<std::span<std::byte>> offloaded_;  // by place
  at::Tensor host_;                              // [bytes]
  std::optional<Copies> copies_;
};

}  // namespace temper::policy
