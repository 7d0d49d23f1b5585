#pragma once
// Candidates in C++, judged on this lane's core.

#include <optional>

#include "env/broker/lane_judge.h"
#include "env/procedure/procedure.h"

namespace temper::env {

class CppLane : public LaneJudge {
 public:
  // Errors: ConfigError if a reference does not compile, WorldError if the sandbox cannot be made.
  explicit CppLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;

 private:
  RunnerOptions runner_options() const;
  NaiveVerdict ask_naive(uint32_t task, const std::string& object);
  void start_oracle();
  void start_runner();

  LaneSetup setup_;
  std::string program_dir_;
  ProcedureOptions options_;
  RunnerOptions runner_options_;
  std::vector<Toolchain> tools_;
  Roofs roofs_;
  std::optional<OracleProcess> oracle_;
  std::optional<RunnerProcess> runner_;
};

}  // namespace temper::env
