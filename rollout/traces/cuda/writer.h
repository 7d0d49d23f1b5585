#pragma once
// The tools with which all CUDA kernels of traces are written: unused names, lines, elements, sums and stores.

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rollout/traces/element.h"
#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

using At = std::vector<std::string>;                   // index expressions, outermost first
using StepNames = std::map<std::string, std::string>;  // C++ text of the names of steps

// Names in the text, none of which an input, an output or a dimension has.
struct CudaNames {
  explicit CudaNames(const env::Task& task);

  std::string fresh(std::initializer_list<const char*> candidates);

  std::set<std::string> taken;
  std::string i, j, k, l;            // row, column, thread or flat index, inner index
  std::string h, q;                  // loops within a block
  std::string p, r;                  // shared memory
  std::string w;                     // workspace
  std::string f, g, element;         // kernels, a function of one element
  std::vector<std::string> steps;    // variables of reductions
  std::vector<std::string> scratch;  // temporaries
};

class CudaWriter {
 public:
  CudaWriter(const Program& its_program, const Style& its_style);  // kept by reference

  const Program& program;
  const Style& style;
  const env::TensorSpec& output;
  const CudaNames name;

  // ---- text ----
  void line(const std::string& text);
  void open(const std::string& head);
  void close(int levels = 1);
  void open_kernel(const std::string& kernel, const std::string& more_parameters = "");
  void open_launch();
  // `f<<<grid, block>>>(arguments);`
  void call_kernel(const std::string& kernel, const std::string& grid, const std::string& block,
                   const std::string& more_arguments = "");
  void unroll();  // before a loop, where the style has it
  // Defects of the whole text; nothing where no defect of the style has a place.
  std::optional<std::string> finish();

  // ---- defects ----
  bool hit(Defect defect);  // whether to make this mistake here

  // ---- elements ----
  // The value of an expression. Temporaries that it needs become lines before, under names not in scope.
  std::string value(const Expression& e, const At& at, const StepNames& bound = {});
  // Likewise; what it needs comes in `statements`, for declare_temporaries.
  std::string value(const Expression& e, const At& at, const StepNames& bound,
                    std::vector<std::string>& statements);
  void declare_temporaries(const std::vector<std::string>& statements);
  // `to = value;` where `guard` holds, if there is one.
  void assign(const std::string& to, const Expression& e, const At& at, const StepNames& bound,
              const std::string& guard = "");
  std::string target();  // y[i * m + j]
  // How inputs are read from now on (Dialect::load).
  void read_with(decltype(Dialect::load) load) { load_ = std::move(load); }

  // ---- reductions ----
  const std::string& variable(const ReductionStep& step) const;
  StepNames variables() const;  // each step's name as its variable
  void declare(const ReductionStep& step);
  void accumulate(const ReductionStep& step, const At& at);
  void combine(const ReductionStep& step, const std::string& into, const std::string& text);
  std::string start(const ReductionStep& step);
  void divide(const ReductionStep& step, const std::string& count);

  // ---- sizes ----
  std::string elements() const;                                           // size of the output: "n * m"
  std::string blocks(const std::string& count, int per);                  // "(n * m + 255) / 256"
  std::string inner_bound(const std::string& length);                     // upper bound of loops over columns
  void leave_beyond(const std::string& index, const std::string& count);  // threads without work return

 private:
  std::string parameters() const;
  std::string arguments() const;
  std::string accumulator_type(const ReductionStep& step);
  void drop_semicolon();
  void drop_declaration();

  decltype(Dialect::load) load_;
  std::string text_;
  std::vector<size_t> declared_ = {0};  // temporaries in scope, of the file and of each open block
  bool applied_ = false;
};

}  // namespace temper::traces
