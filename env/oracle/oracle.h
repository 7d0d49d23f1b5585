#pragma once
// Draws secret inputs, knows the right outputs, and runs the baseline. Answers the requests of
// env/protocol.h.

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "env/case.h"
#include "env/oracle/compare.h"
#include "env/oracle/reference.h"
#include "env/protocol.h"
#include "env/task.h"

namespace temper {

class Oracle {
 public:
  // Compiles every reference and runs it once at each shape of its task.
  // Errors: ConfigError of all tasks whose reference does not compile, fails, changes or ignores an
  // input, or whose outputs do not have the sizes that the task says.
  Oracle(std::vector<Task> tasks, uint8_t* arena, int64_t arena_bytes);

  // Bad requests and failing references are told in the reply.
  OracleReply answer(const OracleRequest& request);

  // The f32 reference on a draw of the last kDraw, in one thread. Returns its outputs so that the caller
  // frees them after the clock has stopped.
  std::vector<at::Tensor> run_baseline(int64_t draw) const;

 private:
  struct Current {  // what the last kDraw drew
    size_t task = 0;
    int32_t shape = -1;
    double magnitude = 1;
    CaseLayout layout;
    std::vector<std::vector<at::Tensor>> inputs;  // views of the arena, by draw
  };
  using ScaleKey = std::tuple<size_t, int32_t, double>;

  void draw(const OracleRequest& request);
  OracleReply compare(const OracleRequest& request);
  void write_reference(int64_t draw) const;
  // A report is filled where an element is wrong.
  Comparison compare_output(size_t output, int64_t draw, const at::Tensor& expected, OutputReport& report);
  Comparison compare_floats(size_t output, int64_t draw, const at::Tensor& expected, OutputReport& report);
  const std::vector<double>& scales(const ScaleKey& key);
  std::vector<double> measure_scales(const ScaleKey& key) const;
  std::vector<at::Tensor> draw_tensors(size_t task, const Shape& shape, double magnitude,
                                       uint64_t seed) const;
  void prove(size_t task) const;            // runs, with the right sizes, and leaves its inputs alone
  void prove_influence(size_t task) const;  // of every input, at one shape at least
  bool matters(size_t task, size_t input, int32_t shape) const;
  std::vector<at::Tensor> run_named(size_t task, const std::vector<at::Tensor>& inputs) const;
  const Shape& shape_of(size_t task, int32_t shape) const;

  std::vector<Task> tasks_;
  std::vector<Reference> references_;
  std::map<ScaleKey, std::vector<double>> scales_;
  uint8_t* arena_;
  int64_t arena_bytes_;
  Current current_;
};

}  // namespace temper
