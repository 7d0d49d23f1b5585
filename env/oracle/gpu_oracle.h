#pragma once
// The oracle on a GPU, in a context of its own: the same inputs as the runner's, the reference in double
// precision, the eager baseline with its time. Answers the requests of env/cuda/gpu_protocol.h.

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "env/cuda/gpu_memory.h"
#include "env/cuda/gpu_protocol.h"
#include "env/cuda/gpu_toolbox.h"
#include "env/oracle/reference.h"

namespace temper {

class GpuOracle {
 public:
  // Compiles every reference and runs it once at each shape of its task, on `device`, which must be where the
  // driver's memory lies. A task that does not fit into what is free there is passed over, and refused when
  // it is asked for. Errors: as the CPU's oracle (oracle.h).
  GpuOracle(std::vector<Task> tasks, const GpuFacts& facts, const SharedGpuMemory& exchange,
            at::Device device);

  // Bad requests, tasks that are too large and failing references are told in the reply.
  GpuOracleReply answer(const GpuOracleRequest& request);

 private:
  using ScaleKey = std::tuple<size_t, int32_t, double>;
  using Tensors = std::vector<at::Tensor>;

  std::string too_large(const Task& task) const;
  void prove(size_t task);
  void prove_influence(size_t task);
  void draw(uint32_t task, const GpuDraw& draw);
  Tensors drawn(const Task& task, const GpuDraw& draw);
  bool unchanged(const Task& task, const GpuDraw& draw, const Tensors& inputs);
  double time_baseline();
  double time_warm();
  void give_away();
  bool allclose();
  const Tensors& baseline();
  Tensors expected(size_t task, const Tensors& inputs);
  Tensors run_as(size_t task, const Tensors& inputs, at::ScalarType type) const;
  void compare(GpuOracleReply& reply);
  CompareResult compare_output(size_t output, const at::Tensor& right);
  CompareResult compare_with(const CompareSpec& spec, CUdeviceptr got, const at::Tensor& right);
  void describe(GpuOracleReply& reply, size_t output, const at::Tensor& right, const CompareResult& found);
  const std::vector<double>& scales(const ScaleKey& key);
  std::vector<double> measure_scales(const ScaleKey& key);
  at::Tensor exchanged(size_t output) const;  // a view of the exchange

  at::TensorOptions options(at::ScalarType type) const { return at::device(device_).dtype(type); }

  at::Device device_;
  std::vector<Task> tasks_;
  std::vector<Reference> references_;
  std::vector<bool> wide_;            // by task: whether the reference runs in double precision
  std::vector<std::string> refused_;  // by task: why it does not fit into memory; "" if it does
  std::map<ScaleKey, std::vector<double>> scales_;
  CUdeviceptr exchange_;
  GpuToolbox tools_;
  CUevent begin_ = nullptr, end_ = nullptr;
  at::Tensor result_;  // a CompareResult

  // Of the last request:
  uint32_t task_ = 0;
  GpuDraw draw_;
  Tensors inputs_, baseline_;
};

}  // namespace temper
