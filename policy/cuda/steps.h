#pragma once
// What one decode step reads and writes, and its CUDA graphs, one for each size of batch.

#include <ATen/core/Tensor.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <memory>

#include "policy/calls.h"
#include "policy/cuda/activations.h"
#include "policy/cuda/cache.h"
#include "policy/model_config.h"
#include "policy/ops/cuda/ops.h"
#include "policy/parameters/workspace.h"

namespace temper::policy {

// What the host says of a step, and what it hears. The same layout in pinned memory and on the GPU.
struct StepWords {
  int32_t* ids;      // [R]; on the GPU the drawn tokens take their place, which the next step may extend by
  float* log_probs;  // [R] of the drawn tokens
  int64_t heard_bytes;
  int32_t* positions;  // [R]
  int32_t* table;      // [R, max_pages]
  cuda::Draw* draws;   // [R]
  int64_t said_bytes;
};

struct StepBuffers {
  StepWords host[2], device;  // of one step the host still hears while it tells of the next
  BlockRows rows;
  at::BFloat16* logits;  // [R, V]
};

cuda::Draw on_device(const Draw& draw, int32_t row);

// A step on its way: who is in its rows and what it draws for them.
struct DecodeStep {
  struct Row {
    int64_t slot = -1;     // none: the row only fills up the batch
    int64_t position = 0;  // position of the next token
    uint64_t edits = 0;    // GpuCache::edits of the slot
    int32_t id = -1;       // that comes; -1: not heard yet
    Draw draw = {};
  };
  uint64_t cache = 0;  // GpuCache::id; 0: there is no step
  int place = 0;       // in StepBuffers::host
  std::vector<Row> rows;
};

class StepGraphs {
 public:
  explicit StepGraphs(const ModelConfig& config);
  ~StepGraphs();

  // In front of a step: graphs hold the addresses of the weights, and those captured with others are given up.
  // `address` is that of the first, which all others follow.
  void use_weights(const void* address);

  // Valid until a larger step, or one over a cache laid out otherwise, asks for its own.
  const StepBuffers& buffers(int64_t rows, const GpuCache::Layout& cache);

  // Runs the work that `enqueue` puts on the stream. The first call runs it directly, which lets libraries choose
  // their kernels; the second captures it into a graph; later calls replay the graph.
  void run(int64_t rows, cudaStream_t stream, const std::function<void()>& enqueue);

  // tell() records an event for buffer `place` on the stream; hear(place) blocks until all work enqueued before that
  // event has run.
  void tell(int place, cudaStream_t stream);
  void hear(int place);

  int64_t bytes() const;

 private:
  struct Step {
    StepBuffers buffers;
    bool ran = false;
    cudaGraphExec_t graph = nullptr;
  };
  void clear();
  void clear_graphs();

  const ModelConfig config_;
  std::map<int64_t, Step> steps_;  // by rows
  at::Tensor host_, device_;
  cudaEvent_t done_[2] = {};
  GpuCache::Layout cache_;
  int64_t max_rows_ = 0;
  const void* weights_ = nullptr;
};

}  // namespace temper::policy
