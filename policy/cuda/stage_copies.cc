// Copies to the GPU and from it have a stream each: its two copy engines work at the same time.

#include "policy/parameters/stage_copies.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <vector>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "policy/ops/cuda/ops.h"

namespace temper::policy::cuda {
namespace {

using at::cuda::CUDAEvent;
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;

class Copies : public StageCopies {
 public:
  explicit Copies(int stages) : free_(size_t(stages)) {
    // The stages' memory may have been another tensor's, with which the current stream computes.
    CUDAEvent begun;
    begun.record(getCurrentCUDAStream());
    begun.block(in_);
  }
  // The stages go after the copies, also where an error ends the update between them.
  ~Copies() override {
    cudaStreamSynchronize(in_);
    cudaStreamSynchronize(out_);
  }

  void fetch(int stage, std::span<const CopyPair> copies) override {
    free_[size_t(stage)].block(in_);
    copy(copies, in_);
    CUDAEvent there;
    there.record(in_);
    there.block(getCurrentCUDAStream());
  }
  void store(int stage, std::span<const CopyPair> copies) override {
    CUDAEvent computed;
    computed.record(getCurrentCUDAStream());
    computed.block(out_);
    copy(copies, out_);
    free_[size_t(stage)].record(out_);
  }
  void finish() override { check(cudaStreamSynchronize(out_), "copies to the host"); }

 private:
  static void copy(std::span<const CopyPair> copies, const CUDAStream& stream) {
    for (const CopyPair& pair : copies) {
      TEMPER_CHECK_EQ(pair.to.nbytes(), pair.from.nbytes());
      check(cudaMemcpyAsync(pair.to.data_ptr(), pair.from.const_data_ptr(), pair.to.nbytes(),
                            cudaMemcpyDefault, stream),
            "a copy between host and GPU");
    }
  }

  const CUDAStream in_ = c10::cuda::getStreamFromPool(), out_ = c10::cuda::getStreamFromPool();
  std::vector<CUDAEvent> free_;  // by stage: its last copies out are done
};

}  // namespace

std::unique_ptr<StageCopies> make_stage_copies(int stages) { return std::make_unique<Copies>(stages); }

}  // namespace temper::policy::cuda
