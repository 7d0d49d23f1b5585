#include "rollout/traces/styles.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rollout/traces/cuda/kernel.h"
#include "rollout/traces/triton/kernel.h"

namespace temper::traces {
namespace {

bool has_dim(const env::Task& task, const std::string& dim) {
  return std::find(task.dims.begin(), task.dims.end(), dim) != task.dims.end();
}

// A leaf loads an element and computes nothing.
bool is_leaf(const Expression& e) {
  return e.kind == Expression::Kind::kName || e.kind == Expression::Kind::kIndex ||
         e.kind == Expression::Kind::kNumber || e.is_call("t") || e.is_call("flip");
}

std::vector<Style> map_styles(const Program& program) {
  std::vector<Style> all = {{.order = Order::kColumns}, {.fast = true}, {.restricted = true, .fast = true}};
  if (!has_dim(*program.task, "k")) all.push_back({.order = Order::kFlat});
  const auto& e = *program.result;
  if (!e.children.empty() && !is_leaf(e) && !is_leaf(*e.children[0])) all.push_back({.passes = true});
  return all;
}

// Reads down the columns of its input: there blocks of rows share what they load.
bool reads_transposed(const Expression& e) {
  if (e.is_call("t")) return true;
  return std::any_of(e.children.begin(), e.children.end(),
                     [](const auto& c) { return reads_transposed(*c); });
}

// Its element needs a variable of its own, which two accumulators in one body would declare twice.
bool needs_variable(const Expression& e) {
  static const std::set<std::string> functions = {"relu",    "square",  "clamp",  "leaky_relu",
                                                  "sigmoid", "maximum", "minimum"};
  if (e.kind == Expression::Kind::kCall && functions.contains(e.text)) return true;
  return std::any_of(e.children.begin(), e.children.end(), [](const auto& c) { return needs_variable(*c); });
}

std::vector<Style> reduction_styles(const Program& program) {
  std::vector<Style> all = {{}, {.accumulate = Accumulate::kSimd, .fast = true}};
  const bool sums = program.steps[0].op == "sum" || program.steps[0].op == "mean";
  if (program.skeleton == Skeleton::kRow && sums && program.steps.size() == 1 &&
      !needs_variable(*program.steps[0].value)) {
    all.push_back({.accumulate = Accumulate::kTwo});
  }
  return all;
}

std::vector<Style> scan_styles(const Program& program) {
  const auto& step = program.steps[0];
  const bool along_rows = step.axis == 1;
  const Order running = along_rows ? Order::kRows : Order::kColumns;
  std::vector<Style> all = {{.order = running, .passes = along_rows},
                            {.order = running, .passes = !along_rows}};
  all[along_rows].fast = along_rows;
  if (step.op == "sum" && program.result->text == step.name) {
    all.push_back({.order = along_rows ? Order::kColumns : Order::kRows, .fast = !along_rows});
  }
  return all;
}

std::vector<Style> matmul_styles(const Program& program) {
  const auto& right = *program.steps[0].value->children[1];
  if (right.is_call("t")) {
    return {{.order = Order::kColumns},
            {.order = Order::kColumns, .accumulate = Accumulate::kSimd, .fast = true}};
  }
  return {{.order = Order::kColumns}, {.order = Order::kRows, .fast = true}};
}

std::string reduction_words(const Style& style) {
  switch (style.accumulate) {
    case Accumulate::kPlain:
      return "one accumulator";
    case Accumulate::kSimd:
      return "a simd reduction";
    case Accumulate::kTwo:
      return "two accumulators";
  }
  return "";
}

std::string map_words(const Style& style) {
  if (style.order == Order::kFlat) return "One flat loop over all elements";
  if (style.passes) return "One pass per operation, rows outside";
  if (style.order == Order::kBlocked) return "One pass, blocks of rows outside";
  return style.order == Order::kRows ? "One pass, rows outside" : "One pass, columns outside";
}

std::string scan_words(const Program& program, const Style& style) {
  const bool along_rows = program.steps[0].axis == 1;
  if (style.passes)
    return along_rows ? "Values first, then along each row" : "Values first, then down each column";
  if (along_rows)
    return style.order == Order::kRows ? "Each row: a running value"
                                       : "Columns outside, adding the one before";
  return style.order == Order::kColumns ? "Each column: a running value"
                                        : "Rows outside, adding the row above";
}

std::string words(const Program& program, const Style& style) {
  switch (program.skeleton) {
    case Skeleton::kMap:
      return map_words(style);
    case Skeleton::kRow:
      return "Each row: " + reduction_words(style);
    case Skeleton::kColumn:
      return style.order == Order::kColumns ? "Each column: one accumulator"
                                            : "Rows outside, adding into the output";
    case Skeleton::kFull:
      return "All elements: " + reduction_words(style);
    case Skeleton::kSoftmax:
      return style.twice ? "Each row: maximum, sum, exp again" : "Each row: maximum, exp kept, sum";
    case Skeleton::kScan:
      return scan_words(program, style);
    case Skeleton::kMatmul:
      return style.order == Order::kRows ? "Each row: rows of the product added up"
                                         : "Each element: " + reduction_words(style);
  }
  return "";
}

}  // namespace

std::vector<Style> styles(const Program& program) {
  if (program.triton()) return triton_styles(program);
  if (program.on_gpu()) return cuda_styles(program);
  switch (program.skeleton) {
    case Skeleton::kMap: {
      auto all = map_styles(program);
      if (reads_transposed(*program.result)) {
        for (auto& style : all) style.fast = false;
        std::swap(all[0], all[1]);
        all.push_back({.order = Order::kBlocked, .fast = true});
      }
      return all;
    }
    case Skeleton::kRow:
    case Skeleton::kFull:
      return reduction_styles(program);
    case Skeleton::kColumn:
      return {{.order = Order::kColumns}, {.order = Order::kRows, .fast = true}};
    case Skeleton::kSoftmax:
      if (program.log_softmax) return {{}, {.restricted = true, .fast = true}};
      return {{.twice = true}, {.fast = true}};
    case Skeleton::kScan:
      return scan_styles(program);
    case Skeleton::kMatmul:
      return matmul_styles(program);
  }
  return {};
}

std::string plan_sentence(const Program& program, const Style& style) {
  if (program.triton()) return triton_words(program, style) + ".";
  return (program.on_gpu() ? cuda_words(program, style) : words(program, style)) +
         (style.restricted ? ", restrict." : ".");
}

}  // namespace temper::traces
