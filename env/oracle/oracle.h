#pragma once
// Draws secret inputs, knows the right outputs, and runs the baseline. Answers the requests of
// env/call/protocol.h.

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "env/call/case.h"
#include "env/call/draw_forms.h"
#include "env/call/fill.h"
#include "env/call/protocol.h"
#include "env/oracle/compare.h"
#include "env/oracle/measured.h"
#include "env/oracle/reference.h"
#include "env/oracle/sensitivity.h"
#include "env/task/task.h"

namespace temper::env {

class Oracle {
 public:
  // Compiles every reference and runs it once at each shape of its task.
  // Errors: one ConfigError for all tasks whose reference does not compile, fails, changes or ignores an input, or
  // whose outputs do not have the sizes that the task declares.
  Oracle(std::vector<Task> tasks, uint8_t* arena, int64_t arena_bytes);

  // The reply reports bad requests and references that fail.
  OracleReply answer(const OracleRequest& request);

  // The f32 reference on a draw of the last kDraw, in one thread. Returns its outputs so that the caller
  // frees them after the clock has stopped.
  std::vector<at::Tensor> run_baseline(int64_t draw) const;

 private:
  struct Current {  // what the last kDraw drew
    size_t task = 0;
    int32_t shape = -1;
    double magnitude = 1;
    CallLayout layout;
    std::vector<std::vector<at::Tensor>> inputs;  // views of the arena, by draw
    std::vector<bool> far;                        // by draw: whether an input departs from a plain one
    std::vector<std::vector<at::Tensor>> right;   // by draw: the right outputs, where they are kept
  };

  // What is right for a draw, and what is asked of it only where a candidate is not.
  struct Right {
    int64_t draw = 0;
    Fill fill;
    std::vector<at::Tensor> expected;
    std::optional<Movements> movements;
  };

  void draw(const OracleRequest& request);
  void draw_one(const OracleRequest& request, int64_t draw);
  void fill_draw(const OracleRequest& request, int64_t draw, const std::vector<DrawForm>& forms);
  std::vector<at::Tensor> right_outputs(int64_t draw);
  OracleReply compare(const OracleRequest& request);
  void write_reference(int64_t draw) const;
  // A report is filled where an element is wrong.
  Comparison compare_output(size_t output, Right& right, OutputReport& report);
  Comparison compare_floats(size_t output, Right& right, OutputReport& report);
  Movements& movements(Right& right) const;
  std::vector<uint32_t> filled(size_t output,
                               const Right& right) const;  // what an output held before the call
  const std::vector<double>& scales(const ScaleKey& key);
  std::vector<double> measure_scales(const ScaleKey& key) const;
  // How far an input may go in a kind (env/call/draw_forms.h): the f32 baseline, whose order of sums is one of
  // many, stays within twice what any candidate is allowed before the baseline is asked.
  double far(const FarKey& key);
  // To measure costs many times a draw, and most kinds may go all the way. Where a kind is asked for the first few
  // times it therefore may, and `assumed` says that the draw itself must be looked at.
  double far_or_assumed(const FarKey& key, bool& assumed);
  bool stays_right(const FarKey& key, double far, uint64_t seed);
  bool draw_stays_right(int64_t draw, bool singled_out);
  // Whether the baseline's outputs are as right as said above. `singled_out`: of inputs of which some elements are
  // far larger than the others.
  bool baseline_bears(const ScaleKey& key, const std::vector<at::Tensor>& right,
                      const std::vector<at::Tensor>& baseline, bool singled_out);
  std::vector<at::Tensor> draw_tensors(size_t task, const Shape& shape, double magnitude,
                                       uint64_t seed) const;
  std::vector<at::Tensor> draw_tensors(size_t task, const Shape& shape, double magnitude, uint64_t seed,
                                       const std::vector<DrawForm>& forms) const;
  void prove(size_t task) const;            // runs, with the right sizes, and leaves its inputs alone
  void prove_influence(size_t task) const;  // checks that every input matters at one shape at least
  std::vector<at::Tensor> run_named(size_t task, const std::vector<at::Tensor>& inputs) const;
  const Shape& shape_of(size_t task, int32_t shape) const;

  std::vector<Task> tasks_;
  std::vector<Reference> references_;
  Measured<ScaleKey, std::vector<double>> scales_;
  Measured<FarKey, double> far_;
  std::map<FarKey, int> assumed_;  // how often
  uint8_t* arena_;
  int64_t arena_bytes_;
  Current current_;
};

}  // namespace temper::env
