#pragma once
// The tools with which all Triton kernels of traces are written: unused names, lines, loads with their masks, sums, and the
// launcher.

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rollout/traces/element.h"
#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

// Names in the text, none of which an input, an output or a dimension has.
struct TritonNames {
  explicit TritonNames(const env::Task& task);

  std::string fresh(std::initializer_list<const char*> candidates);
  std::string value_of(const std::string& input);  // a variable for what is loaded of it

  std::set<std::string> taken;
  std::string i, j, k, l, h;  // row, column, flat index, inner index along a row and down a column
  std::string begin, q, group,
      size;          // where a block of a loop begins, a program's number, a group of tiles and its rows
  std::string w;     // workspace
  std::string mask;  // where the output is written
  std::string f, g, larger;          // kernels, a function of two values
  std::vector<std::string> steps;    // variables of reductions
  std::vector<std::string> scratch;  // temporaries
};

// Parameters that the compiler knows: "BLOCK", and what the launcher gives.
using Constants = std::vector<std::pair<std::string, std::string>>;

class TritonWriter {
 public:
  using Indices = std::vector<std::string>;           // index expressions, outermost first
  using Values = std::map<std::string, std::string>;  // text of the names of steps

  TritonWriter(const Program& its_program, const Style& its_style);  // kept by reference

  const Program& program;
  const Style& style;
  const env::TensorSpec& output;
  TritonNames name;

  // ---- text ----
  void line(const std::string& text);
  void open(const std::string& head);  // "for …", without the colon
  void close(int levels = 1);
  // `constants` are those of the call, too.
  void open_kernel(const std::string& kernel, const Constants& constants, const std::string& more = "");
  // The launcher until the first kernel: the output is there.
  void open_launch(bool zeroed = false);
  void call_kernel(const std::string& kernel, const std::vector<std::string>& grid,
                   const Constants& constants, const std::string& more = "");
  void close_launch();
  void finish_in_torch(const std::string& function) { torch_call_ = "torch." + function; }
  std::optional<std::string> finish();  // nothing where no defect of the style has a place

  // ---- defects ----
  bool hit(Defect defect);

  // ---- indices ----
  // An index variable of this kernel that is to stay below `bound`; "": it does by itself.
  void axis(const std::string& variable, const std::string& bound);
  // Likewise, of an index that is only computed where it is used, from another one.
  void derived(const std::string& variable, const std::string& definition, const std::string& from);
  void define(const std::string& text);  // lines for the derived indices in it that have none yet
  // `range(0, length, BLOCK)`, or one that leaves the rest out.
  std::string pieces(const std::string& length, const std::string& block = "BLOCK",
                     const std::string& first = "0");
  // ", mask=i < n" for what is at this place, or "".
  std::string masked(const std::string& place);
  std::string condition(std::string place);  // "i < n", or ""
  void name_mask(const std::string& place);  // from now on that condition is called `mask`

  // ---- elements ----
  // What loads give beyond the end from now on; "": nothing that may be used.
  void beyond(const std::string& value) { beyond_ = value; }
  // Inputs of the output's shape are read at this flat index where `at` asks for row and column.
  void read_flat(const std::string& flat, const Indices& dims);
  // The value of an expression. Loads and temporaries become lines before, each load once in a block of lines.
  std::string value(const Expression& e, const Indices& at, const Values& bound = {});
  void store(const std::string& place, const std::string& value);  // at that place of the output
  std::string place();                                             // "i * m + j" of the output
  bool raw = false;                                                // loads stay of their own type

  // ---- reductions ----
  const std::string& variable(const ReductionStep& step) const;
  Values variables() const;
  std::string start(const ReductionStep& step);
  // What a step reduces, neutral beyond the end of `along`, which is the dimension `axis` of it (-1: all).
  std::string neutral_value(const ReductionStep& step, const Indices& at, const std::string& along, int axis);
  // Whether what a step reduces is -inf where its inputs are.
  bool sinks(const Expression& e) const;
  // `text`, the value of an expression, but 0 beyond the end of `along`.
  std::string zero_beyond(const std::string& text, const Expression& e, const std::string& along, int axis);
  // "tl.sum(v, axis=0)"
  std::string total(const ReductionStep& step, const std::string& value, int axis, bool keep = false);
  std::string combined(const ReductionStep& step, const std::string& one, const std::string& other) const;
  void divide(const ReductionStep& step, const std::string& count);
  static bool sums(const ReductionStep& step) { return step.op == "sum" || step.op == "mean"; }

  // ---- sizes ----
  std::string elements() const;                                          // "n * m"
  std::string blocks(const std::string& count, const std::string& per);  // "triton.cdiv(n, 64)"
  std::string block_constant(const std::string& length);  // the next power of two, or what stands for it

 private:
  struct Axis {
    std::string bound, definition, from;
    bool defined = false;
  };
  std::string load(const env::TensorSpec& input, const std::string& offset, bool subscript);
  std::string named(const std::string& condition) const;  // or the name of a mask that says the same
  bool vanishes(const Expression& e, int axis) const;
  bool finite(const Expression& e, int axis) const;
  bool narrow_shows() const;  // whether a load that is not made f32 is a mistake
  std::string arguments() const;
  std::string empty_output(bool zeroed);
  void drop_bracket();
  void drop_definition();

  std::string text_;
  std::string beyond_;
  size_t depth_ = 0;
  size_t temporaries_ = 0;            // of the kernel
  std::map<std::string, Axis> axes_;  // of the kernel
  std::vector<std::map<std::string, std::string>> loaded_ = {
      {}};                                        // text of a load → its variable, of each open block
  std::map<std::string, std::string> looked_up_;  // variable of an index tensor → where it was read
  std::map<std::string, std::string> named_masks_;
  std::function<std::string(const env::TensorSpec&, const Indices&)> flat_;
  std::string torch_call_;  // what the launcher does with the output at last
  bool applied_ = false;
};

}  // namespace temper::traces
