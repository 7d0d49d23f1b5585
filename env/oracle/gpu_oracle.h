#pragma once
// The oracle on a GPU, in a CUDA context of its own. It draws the same inputs as the runner, computes the
// reference in double precision, and times the eager baseline. It answers the requests of
// env/gpu/protocol.h.

#include <ATen/ATen.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "env/call/draw_forms.h"
#include "env/gpu/device/memory.h"
#include "env/gpu/device/toolbox.h"
#include "env/gpu/protocol.h"
#include "env/oracle/measured.h"
#include "env/oracle/reference.h"
#include "env/oracle/sensitivity.h"

namespace temper::env {

class GpuOracle {
 public:
  // Compiles every reference and runs it once at each shape of its task, on `device`, which must be the device of
  // the driver's memory. A task that does not fit into the free memory there is refused when it is requested.
  // Errors: as the CPU's oracle (oracle.h).
  GpuOracle(std::vector<Task> tasks, const GpuFacts& facts, const SharedGpuMemory& exchange,
            at::Device device);

  // The reply reports bad requests, tasks that are too large, and references that fail.
  GpuOracleReply answer(const GpuOracleRequest& request);

 private:
  using Tensors = std::vector<at::Tensor>;
  struct Case {
    GpuDraw draw;
    int64_t end_before = 0;  // in the exchange, of the case before
    Tensors inputs, baseline;
  };

  // What is right for a draw, and what is asked of it only where a candidate is not.
  struct Right {
    Tensors expected;
    std::optional<Movements> movements;
  };

  // What is seen of a batch at first.
  struct Board {
    uint64_t digest[kMaxBatch] = {};
    CompareResult result[kMaxBatch][kMaxTensors];  // of each output
  };

  std::string too_large(const Task& task) const;
  using Proof = void (GpuOracle::*)(size_t task);
  void attempt(Proof proof, size_t task);
  void prove(size_t task);
  void prove_influence(size_t task);
  void carry_out(const GpuOracleRequest& request, GpuOracleReply& reply);
  void check_draws(const GpuOracleRequest& request) const;
  void draw(const GpuOracleRequest& request);
  Tensors drawn(const Task& task, const GpuDraw& draw);
  Tensors drawn(const Task& task, const GpuDraw& draw, const std::vector<DrawSpec>& specs);
  void settle(const GpuOracleRequest& request, GpuOracleReply& reply);
  double far(const FarKey& key);
  bool stays_right(const FarKey& key, double far, uint64_t seed);
  bool stays_right(const FarKey& key, size_t output, const at::Tensor& got, const at::Tensor& right);
  bool unchanged(const Task& task, const GpuDraw& draw, const Tensors& inputs);
  void time_baselines(GpuOracleReply& reply);
  double between_events(int call) const;  // microseconds
  double time_warm(Case& drawn);
  void give_away(Case& drawn);
  bool allclose(Case& drawn);
  const Tensors& baseline(Case& drawn);
  Tensors results(Case& drawn);
  // Where double precision does not fit, or torch has none of it, single precision is the reference. (What an
  // op throws loses its type in the interpreter.) Memory may be short for this candidate's sake alone: nothing
  // is remembered of it.
  static Tensors in_widest(const std::function<Tensors(at::ScalarType type)>& compute);
  Tensors expected(size_t task, const Tensors& inputs) const;
  Tensors exact(const Case& drawn);
  void compare(const uint64_t* digest, GpuOracleReply& reply);
  void look_at(Case& drawn, CompareResult* found);
  Board look_at_all();
  bool compare(Case& drawn, GpuOracleReply& reply);
  bool unwritten(const Case& drawn, size_t output, const CompareResult& found) const;
  CompareSpec strict_spec(const Case& drawn, size_t output);
  // `spec` becomes the one that decided.
  CompareResult compare_output(Case& drawn, size_t output, Right& right, CompareSpec& spec);
  OutputReport report(const Case& drawn, size_t output, const at::Tensor& right, const CompareSpec& spec,
                      const CompareResult& found) const;
  double error_of(const at::Tensor& baseline, const at::Tensor& wanted, CompareSpec spec);
  Movements& movements(const Case& drawn, Right& right) const;
  at::Tensor excused(const Case& drawn, size_t output, const at::Tensor& wanted, const at::Tensor& movement,
                     const CompareSpec& spec) const;
  CompareResult compare_with(const CompareSpec& spec, CUdeviceptr got, const at::Tensor& right);
  const std::vector<double>& scales(const ScaleKey& key);
  std::vector<double> measure_scales(const ScaleKey& key);
  at::Tensor exchanged(const Case& drawn, size_t output) const;  // a view of the exchange

  at::TensorOptions options(at::ScalarType type) const { return at::device(device_).dtype(type); }

  at::Device device_;
  std::vector<Task> tasks_;
  std::vector<Reference> references_;
  std::vector<bool> quick_;           // by task: whether launching its baseline takes the host much less
  std::vector<std::string> refused_;  // by task: why it does not fit into memory; "" if it does
  Measured<ScaleKey, std::vector<double>> scales_;
  Measured<FarKey, double> far_;
  CUdeviceptr exchange_;
  GpuToolbox tools_;
  CUevent begin_[kMaxBatch] = {}, end_[kMaxBatch] = {};
  at::Tensor result_, board_;  // a CompareResult, a Board

  // Of the last request:
  uint32_t task_ = 0;
  std::vector<Case> cases_;
  bool near_ = true;   // whether this candidate's outputs on plain inputs may be near the baseline's
  int32_t exact_ = 0;  // as in the reply
};

}  // namespace temper::env
