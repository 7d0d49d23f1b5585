#include "policy/cuda/steps.h"

#include <ATen/ATen.h>

#include <utility>

#include "base/error.h"

namespace temper::policy {
namespace {

using bf16 = at::BFloat16;

StepWords lay_out_words(Arena& a, int64_t rows, int64_t max_pages) {
  StepWords w{};
  const int64_t begin = a.used();
  w.ids = a.take<int32_t>(rows);
  w.log_probs = a.take<float>(rows);
  w.heard_bytes = a.used() - begin;
  w.positions = a.take<int32_t>(rows);
  w.table = a.take<int32_t>(rows * max_pages);
  w.draws = a.take<cuda::Draw>(rows);
  w.said_bytes = a.used() - begin - w.heard_bytes;
  return w;
}

StepBuffers lay_out_step(Arena& host, Arena& device, const ModelConfig& c, int64_t rows, int64_t max_pages) {
  StepBuffers s{};
  for (StepWords& words : s.host) words = lay_out_words(host, rows, max_pages);
  s.device = lay_out_words(device, rows, max_pages);
  s.rows = lay_out_rows(device, c, rows);
  s.logits = device.take<bf16>(rows * c.vocab_size);
  return s;
}

std::byte* bytes_of(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

}  // namespace

cuda::Draw on_device(const Draw& draw, int32_t row) {
  const double t = draw.params.temperature;
  const Truncation truncation = draw.params.truncation();
  return {.row = row,
          .greedy = t == 0,
          .scale = t > 0 ? float(1 / t) : 1.0f,
          .u = float(draw.u),
          .top_p = float(truncation.top_p),
          .top_k = cuda::device_top_k(truncation)};
}

StepGraphs::StepGraphs(const ModelConfig& config) : config_(config) {
  for (cudaEvent_t& event : done_)
    cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
}

StepGraphs::~StepGraphs() {
  clear();
  for (cudaEvent_t event : done_) cudaEventDestroy(event);
}

void StepGraphs::clear_graphs() {
  for (auto& [rows, step] : steps_)
    if (step.graph) cudaGraphExecDestroy(std::exchange(step.graph, nullptr));
}

void StepGraphs::clear() {
  clear_graphs();
  steps_.clear();
}

// Such graphs run no more: the old weights' memory was given back to the device, which comes to the end of all that uses it
// before.
void StepGraphs::use_weights(const void* address) {
  if (address != weights_) clear_graphs();
  weights_ = address;
}

const StepBuffers& StepGraphs::buffers(int64_t rows, const GpuCache::Layout& cache) {
  if (rows > max_rows_ || cache != cache_) {
    clear();
    max_rows_ = std::max(rows, max_rows_), cache_ = cache;
    Arena host, device;
    lay_out_step(host, device, config_, max_rows_, cache_.max_pages);
    host_ = at::empty({host.used()}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
    device_ = at::empty({device.used()}, at::TensorOptions().dtype(at::kByte).device(at::kCUDA));
  }
  auto [step, fresh] = steps_.try_emplace(rows);
  if (fresh) {
    Arena host(bytes_of(host_)), device(bytes_of(device_));
    step->second.buffers = lay_out_step(host, device, config_, rows, cache_.max_pages);
  }
  return step->second.buffers;
}

void StepGraphs::run(int64_t rows, cudaStream_t stream, const std::function<void()>& enqueue) {
  Step& step = steps_.at(rows);
  if (!step.ran) {
    enqueue();
    step.ran = true;
    return;
  }
  if (!step.graph) {
    cudaGraph_t graph;
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    enqueue();
    cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    cuda::check(cudaGraphInstantiate(&step.graph, graph, 0), "cudaGraphInstantiate");
    cuda::check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  cuda::check(cudaGraphLaunch(step.graph, stream), "cudaGraphLaunch");
}

void StepGraphs::tell(int place, cudaStream_t stream) {
  cuda::check(cudaEventRecord(done_[place], stream), "cudaEventRecord");
}

void StepGraphs::hear(int place) { cuda::check(cudaEventSynchronize(done_[place]), "decode step"); }

int64_t StepGraphs::bytes() const { return device_.defined() ? device_.numel() : 0; }

}  // namespace temper::policy
