#pragma once
// A task's reference: PyTorch source, interpreted op by op without Python.

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "env/oracle/roundings.h"
#include "env/task/task.h"

namespace torch::jit {
struct Graph;
}

namespace temper::env {

// The message of torch's exception, without the C++ stack trace that follows it.
std::string torch_words(const std::exception& error);

// Whether the exception is about too little memory. This is decided by its message, because the type of what an
// op throws is lost in the interpreter.
bool memory_was_short(const std::exception& error);

class Reference {
 public:
  using Edit = std::function<void(torch::jit::Graph&)>;

  // `edit` changes the program before it is made ready to run. Errors: ConfigError naming the task, with
  // TorchScript's words.
  explicit Reference(const Task& task, const Edit& edit = {});
  ~Reference();
  Reference(Reference&&) noexcept;
  Reference& operator=(Reference&&) noexcept;

  // Each op as written, nothing fused or reordered: the cost is that of PyTorch eager. Dtypes follow the
  // inputs. Errors: whatever torch throws.
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& inputs) const;

  // Runs the reference with floating inputs converted to `type`. Outputs are f64, or i64 if the task declares
  // integers.
  std::vector<at::Tensor> wide(const std::vector<at::Tensor>& inputs,
                               at::ScalarType type = at::kDouble) const;

  // As wide, with every floating element of the inputs and of each op's results multiplied by 1 ± its error, the
  // signs drawn by the key, and with what its sums lose (plain_sums.h). That is how far a computation may err
  // which rounds where the reference has a value.
  std::vector<at::Tensor> rounded(const std::vector<at::Tensor>& inputs, RoundingErrors errors, uint64_t key,
                                  at::ScalarType type = at::kDouble) const;

 private:
  struct Program;
  void make_rounded() const;
  std::vector<at::Tensor> in_declared_types(std::vector<at::Tensor> outputs) const;
  std::unique_ptr<Program> program_;
};

}  // namespace temper::env
