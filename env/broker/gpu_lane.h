#pragma once
// A GPU: candidates that other lanes have compiled and planned, one after another.

#include <memory>
#include <optional>

#include "env/broker/lane_judge.h"
#include "env/procedure/gpu_procedure.h"

namespace temper::env {

class GpuLane : public LaneJudge {
 public:
  // Errors: ConfigError if a reference does not compile, WorldError if there is no GPU that computes.
  explicit GpuLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;

 private:
  void start_oracle();

  LaneSetup setup_;
  GpuProcedureOptions options_;
  GpuFactsWire gpu_;
  std::optional<GpuOracleProcess> oracle_;
  std::optional<GpuRunnerPool> runners_;
  std::optional<GpuProfiler> profiler_;
  std::string no_profile_;  // why
  std::string neighbours_;
  double judged_s_ = 0;  // when a candidate was judged last
};

}  // namespace temper::env
