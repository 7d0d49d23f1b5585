#pragma once
// One element of an expression in C++, or in Triton those of a block at once: index arithmetic, operators, and temporaries
// where a value is used twice.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

// What depends on where the element is written.
struct Dialect {
  enum class Kind { kCpp, kCuda, kTriton } kind = Kind::kCpp;
  std::vector<std::string> temporaries = {"v", "e", "f", "q1", "q2", "q3"};
  size_t declared = 0;           // of them, in scope already
  std::string contracted = "l";  // the inner index of a product
  // The element of an input at these indices, where it is not the input's name and its offset; or "".
  std::function<std::string(const env::TensorSpec&, const std::vector<std::string>&)> load = {};
  // The element of an input at an offset, where brackets do not say it. Those of integers are read as such for a subscript.
  std::function<std::string(const env::TensorSpec&, const std::string& offset, bool subscript)> read = {};
  bool spelled_out = false;  // Triton: exp2 for exp, sigmoid by exp
};

class ElementWriter {
 public:
  // `bound`: C++ text of names that are no inputs (steps, kStored).
  ElementWriter(const Program& program, const Defects& defects, std::map<std::string, std::string> bound,
                Dialect dialect = {})
      : program_(program),
        defects_(defects),
        bound_(std::move(bound)),
        dialect_(std::move(dialect)),
        temporaries_(dialect_.declared) {}

  // The value at the given index expressions, one a dimension of the context, outermost first.
  std::string value(const Expression& e, const std::vector<std::string>& at);
  // The element's name as a variable.
  std::string variable(const Expression& e, const std::vector<std::string>& at);
  // Declarations that must stand before the values handed out since the last call.
  std::vector<std::string> take_statements();

  bool defect_applied() const { return applied_; }

 private:
  struct Text {
    std::string text;
    int loose = 0;  // 0 atom · 1 product · 2 sum · 3 condition
  };
  Text write(const Expression& e, std::vector<std::string> at);
  Text write_name(const Expression& e, const std::vector<std::string>& at);
  Text write_index(const Expression& e, std::vector<std::string> at);
  Text write_binary(const Expression& e, const std::vector<std::string>& at);
  Text write_call(const Expression& e, const std::vector<std::string>& at);
  Text write_cuda_call(const Expression& e, const Text& argument);
  Text write_triton_call(const Expression& e, const Text& argument);  // triton/calls.cc
  std::string exponential(const std::string& value) const;            // Triton
  Text write_matmul_factor(const Expression& e, const std::vector<std::string>& at);
  std::string input_element(const env::TensorSpec& input, const std::vector<std::string>& at);
  std::string subscript(const std::string& item, const std::string& at, const std::string& other);
  std::string temporary(const Text& value);
  std::string constant(const Expression& number) const;
  bool hit(Defect defect);  // whether to make this mistake here

  const Program& program_;
  Defects defects_;
  std::map<std::string, std::string> bound_;
  Dialect dialect_;
  std::vector<std::string> statements_;
  size_t temporaries_;
  bool applied_ = false;
};

}  // namespace temper::traces
