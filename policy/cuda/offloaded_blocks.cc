#include "policy/cuda/offloaded_blocks.h"

#include <cuda_runtime_api.h>

#include "policy/cuda/device.h"
#include "policy/ops/cuda/ops.h"

namespace temper::policy {

using c10::cuda::getCurrentCUDAStream;

// No copy may still be on its way when the host's memory is freed, not even one of a pack that an error ended.
OffloadedBlocks::~OffloadedBlocks() {
  if (copies_) cudaStreamSynchronize(copies_->stream);
}

void OffloadedBlocks::begin(std::span<const GpuBlock> blocks) {
  places_.assign(blocks.size(), std::nullopt);
  offloaded_.clear();
  for (size_t block = 0; block < blocks.size(); ++block) {
    if (blocks[block].offloaded.empty()) continue;
    places_[block] = offloaded_.size();
    offloaded_.push_back(blocks[block].offloaded);
  }
  const int64_t bytes = offloaded_bytes(blocks);
  if (bytes == 0) return;
  if (!copies_) copies_.emplace();
  // The current stream may still compute with another tensor in these memories, and copies of a pack that an error ended may still
  // be on their way.
  at::cuda::CUDAEvent begun, ended;
  begun.record(getCurrentCUDAStream());
  begun.block(copies_->stream);
  ended.record(copies_->stream);
  ended.block(getCurrentCUDAStream());
  if (host_.defined() && host_.numel() >= bytes) return;
  cuda::check(cudaStreamSynchronize(copies_->stream), "copies to the host");
  host_ = at::Tensor();
  host_ = cuda::host_zeros(bytes, at::kByte, "activations");
}

std::byte* OffloadedBlocks::on_host(size_t place) const {
  return static_cast<std::byte*>(host_.data_ptr()) + place * offloaded_[place].size();
}

void OffloadedBlocks::wait(size_t place) {
  copies_->done[place % kOffloadMemories].block(getCurrentCUDAStream());
}

// Behind what the current stream was given so far.
void OffloadedBlocks::copy(size_t place, void* to, const void* from) {
  at::cuda::CUDAEvent computed;
  computed.record(getCurrentCUDAStream());
  computed.block(copies_->stream);
  cuda::check(cudaMemcpyAsync(to, from, offloaded_[place].size(), cudaMemcpyDefault, copies_->stream),
              "a copy between host and GPU");
  copies_->done[place % kOffloadMemories].record(copies_->stream);
}

void OffloadedBlocks::before_forward(size_t block) {
  if (const auto place = places_[block]; place && *place >= kOffloadMemories) wait(*place);
}

void OffloadedBlocks::after_forward(size_t block) {
  if (const auto place = places_[block]; place && moves(*place))
    copy(*place, on_host(*place), offloaded_[*place].data());
}

void OffloadedBlocks::before_backward(size_t block) {
  if (const auto place = places_[block]; place && moves(*place)) wait(*place);
}

void OffloadedBlocks::after_backward(size_t block) {
  const auto place = places_[block];
  if (!place || *place < kOffloadMemories) return;
  const size_t next = *place - kOffloadMemories;
  copy(next, offloaded_[next].data(), on_host(next));
}

}  // namespace temper::policy
