#pragma once
// A reference as the loops that compute it: reductions hoisted out as named steps, the rest one expression
// per element of the output.

#include <map>
#include <string>
#include <vector>

#include "env/languages/language.h"
#include "env/task/task.h"
#include "rollout/traces/reference.h"

namespace temper::traces {

enum class Skeleton {
  kMap,      // element by element
  kRow,      // reductions along rows, then a number or a row each
  kColumn,   // one reduction down the columns
  kFull,     // one reduction over everything
  kSoftmax,  // softmax or log_softmax along rows; on a GPU kRow, of two steps
  kScan,     // running reduction
  kMatmul,   // product of two matrices
};

// The names under which the result refers to what is not an input.
inline constexpr const char* kStored =
    "stored";  // the element of the output buffer written by an earlier pass

struct ReductionStep {
  std::string name;     // s, t, …
  std::string op;       // sum, mean, amax, amin
  ExpressionPtr value;  // what is reduced
  int axis = -1;        // 0: down the columns, 1: along the rows, -1: everything
};

struct Program {
  const env::Task* task = nullptr;
  Skeleton skeleton = Skeleton::kMap;
  std::vector<ReductionStep> steps;
  std::map<std::string, ExpressionPtr> aliases;  // named intermediates that are no reduction
  ExpressionPtr result;                          // one element of the output
  bool log_softmax = false;                      // kSoftmax: the logarithm is asked for
  bool softmax = false;                          // kRow: steps 0 and 1 are the maximum and sum of a softmax

  bool on_gpu() const { return task->on_gpu(); }
  bool triton() const { return env::find_language(task->language).form == env::Form::kPython; }

  // The dimensions of an expression, outermost first; "?" where a slice changed them.
  std::vector<std::string> dims(const Expression& e) const;
};

// Keeps a pointer to the task.
// Errors: ConfigError where the reference is outside what the grammar writes.
Program lower(const env::Task& task);

}  // namespace temper::traces
