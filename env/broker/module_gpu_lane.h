#pragma once
// A GPU whose candidates are modules of PyTorch. Several lanes may share one: of each a candidate is judged at a time.

#include <optional>

#include "env/broker/lane_judge.h"
#include "env/kernelbench/module_procedure.h"

namespace temper::env {

// Whether all tasks of a GPU's lane are modules. Errors: ConfigError naming one of each kind where only some are: the processes
// of both kinds do not share a GPU.
bool all_modules(const std::vector<Task>& tasks);

class ModuleGpuLane : public LaneJudge {
 public:
  // Errors: WorldError if there is no Python with torch, or no GPU that computes. Where TEMPER_MODULE_DEVICE is "cpu", modules
  // are judged on a core, for tests.
  explicit ModuleGpuLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;
  void idle() override;

 private:
  void start_bench();

  LaneSetup setup_;
  ModuleBoxOptions box_;
  ModuleProcedureOptions options_;
  ModuleMachine machine_;
  std::optional<ModuleTurns> turns_;
  std::optional<ModuleBench> bench_;
};

}  // namespace temper::env
