#include "rollout/traces/kernel.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "rollout/traces/cuda/kernel.h"
#include "rollout/traces/element.h"
#include "rollout/traces/triton/kernel.h"

namespace temper::traces {
namespace {

using At = std::vector<std::string>;
using Bound = std::map<std::string, std::string>;

class Kernel {
 public:
  Kernel(const Program& program, const Style& style)
      : program_(program), style_(style), output_(program.task->outputs[0]) {}

  std::optional<std::string> write() {
    open(signature());
    body();
    close();
    if (has(Defect::kNoSemicolon)) drop_semicolon();
    if (has(Defect::kUndeclared)) drop_declaration();
    if (style_.defects.any() && !applied_) return std::nullopt;
    return text_;
  }

 private:
  void body() {
    switch (program_.skeleton) {
      case Skeleton::kMap:
        return map();
      case Skeleton::kRow:
        return rows();
      case Skeleton::kColumn:
        return style_.order == Order::kColumns ? column_by_column() : rows_into_columns();
      case Skeleton::kFull:
        return everything();
      case Skeleton::kSoftmax:
        return softmax();
      case Skeleton::kScan:
        return scan();
      case Skeleton::kMatmul:
        return style_.order == Order::kRows ? matmul_rows() : matmul_dots();
    }
  }

  // ---- one loop nest over the output ----

  void map() {
    if (style_.order == Order::kFlat) return flat();
    if (!style_.passes) return over_output([&] { store(*program_.result, {}); });
    const auto [first, second] = split(*program_.result);
    over_output([&] { store(*first, {}); });
    over_output([&] { store(*second, {{kStored, target()}}); });
  }

  // The outermost operation apart from what it works on.
  std::pair<ExpressionPtr, ExpressionPtr> split(const Expression& e) const {
    auto children = e.children;
    const auto first = std::exchange(children[0], name(kStored));
    return {first, with_children(e, children)};
  }

  void flat() {
    open(fmt::format("for (int k = 0; k < {} * {}; ++k)", dim(0), inner_bound(dim(1))));
    line(fmt::format("int i = k / {0}, j = k % {0};", dim(1)));
    store(*program_.result, {});
    close();
  }

  template <class Body>
  void over_output(Body inside) {
    if (style_.order == Order::kBlocked) return blocked(inside);
    const bool rows = style_.order != Order::kColumns;
    open(rows ? loop("i", dim(0)) : loop("j", inner_bound(dim(1))));
    open(rows ? loop("j", inner_bound(dim(1))) : loop("i", dim(0)));
    inside();
    close(2);
  }

  template <class Body>
  void blocked(Body inside) {
    open(fmt::format("for (int i0 = 0; i0 < {}; i0 += 16)", dim(0)));
    open(loop("j", inner_bound(dim(1))));
    open(fmt::format("for (int i = i0; i < i0 + 16 && i < {}; ++i)", dim(0)));
    inside();
    close(3);
  }

  // ---- reductions ----

  void rows() {
    const auto shape = program_.dims(*program_.steps[0].value);
    open(loop("i", output_.shape[0]));
    for (const auto& step : program_.steps) reduce(step, shape.at(1));
    if (output_.shape.size() == 1) {
      assign(fmt::format("{}[i]", output_.name), *program_.result, {"i"}, scalars());
    } else {
      open(loop("j", inner_bound(dim(1))));
      store(*program_.result, scalars());
      close();
    }
    close();
  }

  void reduce(const ReductionStep& step, const std::string& length) {
    declare(step);
    if (style_.accumulate == Accumulate::kTwo) {
      two_accumulators(step, length);
    } else {
      pragma(step);
      open(loop("j", inner_bound(length)));
      accumulate(step, step.name, {"i", "j"}, scalars());
      close();
    }
    divide(step, length);
  }

  void two_accumulators(const ReductionStep& step, const std::string& length) {
    const std::string second = step.name + "1";
    line(fmt::format("float {} = 0;", second));
    open(fmt::format("for (int j = 0; j + 1 < {}; j += 2)", inner_bound(length)));
    accumulate(step, step.name, {"i", "j"}, scalars());
    accumulate(step, second, {"i", "j + 1"}, scalars());
    close();
    open(fmt::format("if ({} % 2 == 1)", length));
    accumulate(step, step.name, {"i", length + " - 1"}, scalars());
    close();
    line(fmt::format("{} += {};", step.name, second));
  }

  void column_by_column() {
    const auto& step = program_.steps[0];
    const auto shape = program_.dims(*step.value);
    open(loop("j", inner_bound(output_.shape[0])));
    declare(step);
    open(loop("i", shape.at(0)));
    accumulate(step, step.name, {"i", "j"}, {});
    close();
    divide(step, shape.at(0));
    assign(fmt::format("{}[j]", output_.name), *program_.result, {"j"}, scalars());
    close();
  }

  void rows_into_columns() {
    const auto& step = program_.steps[0];
    const auto shape = program_.dims(*step.value);
    const std::string target = fmt::format("{}[j]", output_.name);
    if (!hit(Defect::kNoInit)) each_column([&] { line(fmt::format("{} = {};", target, start(step))); });
    open(loop("i", shape.at(0)));
    each_column([&] { accumulate(step, target, {"i", "j"}, {}); });
    close();
    const bool divided = step.op == "mean" && !hit(Defect::kNoDivide);
    if (!divided && program_.result->text == step.name) return;
    const std::string bound = divided ? fmt::format("{} / {}", target, shape.at(0)) : target;
    each_column([&] { assign(target, *program_.result, {"j"}, {{step.name, bound}}); });
  }

  template <class Body>
  void each_column(Body inside) {
    open(loop("j", inner_bound(output_.shape[0])));
    inside();
    close();
  }

  void everything() {
    const auto& step = program_.steps[0];
    const auto shape = program_.dims(*step.value);
    declare(step);
    open(loop("i", shape.at(0)));
    pragma(step);
    open(loop("j", inner_bound(shape.at(1))));
    accumulate(step, step.name, {"i", "j"}, {});
    close(2);
    if (step.op == "mean" && hit(Defect::kHalfDivide)) {
      line(fmt::format("{0} = {0} / {1};", step.name, shape[1]));
    } else {
      divide(step, fmt::format("({} * {})", shape[0], shape[1]));
    }
    assign(output_.name + "[0]", *program_.result, {}, scalars());
  }

  void softmax() {
    const bool logarithm = program_.log_softmax;
    const bool no_maximum = hit(Defect::kNoMaximum);
    open(loop("i", dim(0)));
    if (!no_maximum) line("float t = -1e30f;");
    open(loop("j", inner_bound(dim(1))));
    softmax_values(no_maximum);
    close();
    line("float s = 0;");
    const std::string exponent = no_maximum ? fmt::format("__builtin_expf({})", target())
                                            : fmt::format("__builtin_expf({} - t)", target());
    open(loop("j", inner_bound(dim(1))));
    if (!logarithm && !style_.twice) line(fmt::format("{} = {};", target(), exponent));
    line(fmt::format("s += {};", logarithm || style_.twice ? exponent : target()));
    close();
    open(loop("j", inner_bound(dim(1))));
    auto bound = scalars();
    bound[kStored] = !logarithm && style_.twice ? exponent : target();
    if (no_maximum) bound["t"] = "0";
    store(*program_.result, bound);
    close(2);
  }

  void softmax_values(bool no_maximum) {
    ElementWriter writer(program_, style_.defects, {});
    const std::string v = no_maximum ? writer.value(*program_.steps[0].value, {"i", "j"})
                                     : writer.variable(*program_.steps[0].value, {"i", "j"});
    flush(writer);
    line(fmt::format("{} = {};", target(), v));
    if (!no_maximum) line(fmt::format("t = {0} > t ? {0} : t;", v));
  }

  // ---- scans ----

  void scan() {
    auto step = program_.steps[0];
    if (style_.passes) {
      over_output([&] { store(*step.value, {}); });
      step.value = name(kStored);
    }
    const bool along_rows = step.axis == 1;
    if (along_rows == (style_.order == Order::kRows)) return running(step, along_rows);
    previous(step, along_rows);
  }

  // A running value in a variable, the scanned loop inside.
  void running(const ReductionStep& step, bool along_rows) {
    open(along_rows ? loop("i", dim(0)) : loop("j", inner_bound(dim(1))));
    declare(step);
    open(along_rows ? loop("j", inner_bound(dim(1))) : loop("i", dim(0)));
    accumulate(step, step.name, {"i", "j"}, {{kStored, target()}});
    store(*program_.result, scalars());
    close(2);
  }

  // The element before it read back, the scanned loop outside.
  void previous(const ReductionStep& step, bool along_rows) {
    const std::string before = along_rows
                                   ? fmt::format("j > 0 ? {}[i * {} + j - 1] : 0", output_.name, dim(1))
                                   : fmt::format("i > 0 ? {}[(i - 1) * {} + j] : 0", output_.name, dim(1));
    open(along_rows ? loop("j", inner_bound(dim(1))) : loop("i", dim(0)));
    open(along_rows ? loop("i", dim(0)) : loop("j", inner_bound(dim(1))));
    ElementWriter writer(program_, style_.defects, {});
    const std::string element = writer.variable(*step.value, {"i", "j"});
    flush(writer);
    line(fmt::format("{} = {} + ({});", target(), element, before));
    close(2);
  }

  // ---- products ----

  void matmul_dots() {
    const auto& step = program_.steps[0];
    open(loop("i", dim(0)));
    open(loop("j", inner_bound(dim(1))));
    declare(step);
    pragma(step);
    open(loop("l", contracted()));
    accumulate(step, step.name, {"i", "j"}, {});
    close();
    store(*program_.result, scalars());
    close(2);
  }

  void matmul_rows() {
    const auto& step = program_.steps[0];
    open(loop("i", dim(0)));
    if (!hit(Defect::kNoInit)) {
      open(loop("j", inner_bound(dim(1))));
      line(target() + " = 0;");
      close();
    }
    open(loop("l", contracted()));
    open(loop("j", inner_bound(dim(1))));
    accumulate(step, target(), {"i", "j"}, {});
    close(2);
    if (program_.result->text != step.name) {
      open(loop("j", inner_bound(dim(1))));
      store(*program_.result, {{step.name, target()}});
      close();
    }
    close();
  }

  std::string contracted() const { return program_.dims(*program_.steps[0].value->children[0]).at(1); }

  // ---- pieces ----

  std::string start(const ReductionStep& step) {
    if (step.op == "sum" || step.op == "mean") return "0";
    if (hit(Defect::kZeroInit)) return "0";
    return step.op == "amax" ? "-1e30f" : "1e30f";
  }

  void declare(const ReductionStep& step) { line(fmt::format("float {} = {};", step.name, start(step))); }

  void pragma(const ReductionStep& step) {
    if (style_.accumulate != Accumulate::kSimd) return;
    const char* op = step.op == "amax" ? "max" : step.op == "amin" ? "min" : "+";
    text_ += fmt::format("#pragma omp simd reduction({}:{})\n", op, step.name);
  }

  void accumulate(const ReductionStep& step, const std::string& into, const At& at, const Bound& bound) {
    ElementWriter writer(program_, style_.defects, bound);
    if (step.op == "sum" || step.op == "mean") {
      const std::string value = writer.value(*step.value, at);
      flush(writer);
      line(fmt::format("{} += {};", into, value));
    } else {
      const std::string value = writer.variable(*step.value, at);
      flush(writer);
      line(fmt::format("{0} = {1} {2} {0} ? {1} : {0};", into, value, step.op == "amax" ? ">" : "<"));
    }
  }

  void divide(const ReductionStep& step, const std::string& count) {
    if (step.op != "mean" || hit(Defect::kNoDivide)) return;
    line(fmt::format("{0} = {0} / {1};", step.name, count));
  }

  // Every step's name stands for the variable that holds it.
  Bound scalars() const {
    Bound bound;
    for (const auto& step : program_.steps) bound[step.name] = step.name;
    return bound;
  }

  void store(const Expression& e, const Bound& bound) { assign(target(), e, {"i", "j"}, bound); }

  void assign(const std::string& to, const Expression& e, const At& at, const Bound& bound) {
    ElementWriter writer(program_, style_.defects, bound);
    const std::string value = writer.value(e, at);
    flush(writer);
    line(fmt::format("{} = {};", to, value));
  }

  void flush(ElementWriter& writer) {
    for (const auto& statement : writer.take_statements()) line(statement);
    applied_ = applied_ || writer.defect_applied();
  }

  std::string target() {
    return fmt::format("{}[i * {} + j]", output_.name,
                       hit(Defect::kTarget) ? output_.shape[0] : output_.shape[1]);
  }

  std::string dim(size_t k) { return output_.shape[hit(Defect::kSwapBounds) ? 1 - k : k]; }
  std::string inner_bound(const std::string& length) {
    return hit(Defect::kShortBound) ? length + " - 1" : length;
  }

  bool has(Defect defect) const { return style_.defects.test(size_t(defect)); }
  bool hit(Defect defect) {
    applied_ = applied_ || has(defect);
    return has(defect);
  }

  static std::string loop(const std::string& variable, const std::string& bound) {
    return fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, bound);
  }

  // ---- text ----

  void line(const std::string& text) { text_ += std::string(size_t(depth_) * 2, ' ') + text + "\n"; }
  void open(const std::string& head) {
    line(head + " {");
    ++depth_;
  }
  void close(int levels = 1) {
    for (; levels > 0; --levels) {
      --depth_;
      line("}");
    }
  }

  std::string signature() const {
    std::string text = program_.task->signature();
    if (!style_.restricted) return text;
    for (size_t at = text.find("* "); at != std::string::npos; at = text.find("* ", at + 2)) {
      text.insert(at + 2, "__restrict__ ");
    }
    return text;
  }

  void drop_semicolon() {
    const size_t at = text_.rfind(";\n");
    text_.erase(at, 1);
    applied_ = true;
  }

  void drop_declaration() {
    const size_t at = text_.find("float v = ");
    if (at == std::string::npos) return;
    text_.erase(at, 6);
    applied_ = true;
  }

  const Program& program_;
  const Style& style_;
  const env::TensorSpec& output_;
  std::string text_;
  int depth_ = 0;
  bool applied_ = false;
};

}  // namespace

std::optional<std::string> write_kernel(const Program& program, const Style& style) {
  if (program.triton()) return write_triton_kernel(program, style);
  return program.on_gpu() ? write_cuda_kernel(program, style) : Kernel(program, style).write();
}

}  // namespace temper::traces
