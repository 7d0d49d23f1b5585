// Kernels that are launched early see what the kernels before them wrote, in streams and in graphs.

#include "tests/policy/on_gpu/gpu_test.h"

namespace temper::policy {
namespace {

using GpuLaunch = GpuOps;

constexpr int64_t kRows = 1000, kWidth = 4096;
constexpr int kRounds = 50;

// Two norms and a SwiGLU, over and over between the same buffers.
struct Chain {
  Chain(DType type, const at::Tensor& values, const at::Tensor& weights)
      : dtype(type), x(values), y(values), gate_up(at::cat({values, values}, 1)), w(weights) {}
  void norms(cudaStream_t stream) const {
    cuda::rms_norm(dtype, x.data(), nullptr, w.data(), 1e-6, kRows, kWidth, y.data(), stream);
    cuda::rms_norm(dtype, y.data(), nullptr, w.data(), 1e-6, kRows, kWidth, gate_up.data(), stream);
  }
  void gate(cudaStream_t stream) const {
    cuda::swiglu(dtype, gate_up.data(), kRows, kWidth, x.data(), stream);
  }
  DType dtype;
  DeviceArray x, y, gate_up, w;
};

TEST_P(GpuLaunch, ChainsGiveTheBitsOfSeparateCalls) {
  const at::Tensor x = random({kRows, kWidth}), w = random({kWidth}) + 2;
  const Chain separate(GetParam(), x, w), chained(GetParam(), x, w), captured(GetParam(), x, w);
  for (int i = 0; i < kRounds; ++i) {
    separate.norms(nullptr);
    cuda::check(cudaDeviceSynchronize(), "norms");
    separate.gate(nullptr);
    cuda::check(cudaDeviceSynchronize(), "gate");
  }
  const DeviceArray sums(at::zeros({kWidth}));
  cudaStream_t stream, other;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cuda::check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "stream");
  for (int i = 0; i < kRounds; ++i) chained.norms(stream), chained.gate(stream);

  // One kernel waits for a kernel of either stream.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaEvent_t forked, joined;
  cuda::check(cudaEventCreate(&forked), "event");
  cuda::check(cudaEventCreate(&joined), "event");
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < kRounds; ++i) {
    cuda::check(cudaEventRecord(forked, stream), "event");
    cuda::check(cudaStreamWaitEvent(other, forked), "event");
    captured.norms(other);
    cuda::check(cudaEventRecord(joined, other), "event");
    cuda::add_blocks(sums.f32(), 1, kWidth, kWidth, true, sums.f32(), stream);
    cuda::check(cudaStreamWaitEvent(stream, joined), "event");
    captured.gate(stream);
  }
  cuda::check(cudaStreamEndCapture(stream, &graph), "capture");
  cuda::check(cudaGraphInstantiate(&exec, graph, 0), "graph");
  cuda::check(cudaGraphLaunch(exec, stream), "graph");
  cuda::check(cudaDeviceSynchronize(), "graph");
  EXPECT_TRUE(same_bits(chained.x.host(), separate.x.host()));
  EXPECT_TRUE(same_bits(captured.x.host(), separate.x.host()));
  EXPECT_FALSE(same_bits(separate.x.host(), x));
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  for (cudaEvent_t event : {forked, joined}) cudaEventDestroy(event);
  for (cudaStream_t s : {stream, other}) cudaStreamDestroy(s);
}

TEMPER_BOTH_TYPES(GpuLaunch);

}  // namespace
}  // namespace temper::policy
