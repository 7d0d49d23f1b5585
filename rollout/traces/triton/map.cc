// Element by element.

#include <fmt/format.h>

#include <utility>

#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {
namespace {

class TritonMap {
 public:
  explicit TritonMap(TritonWriter& out)
      : out_(out),
        i_(out.name.i),
        j_(out.name.j),
        k_(out.name.k),
        block_(fmt::format("{}", out.style.block)),
        matrix_(out.output.shape.size() == 2) {}

  void write() {
    result_ = out_.program.result;
    if (out_.style.passes) return passes();
    leave_to_torch();
    switch (out_.style.way) {
      case Way::kGridStride:
        return grid_stride();
      case Way::kBlockRow:
        return row(false);
      case Way::kWhole:
        return row(true);
      case Way::kTile:
        return tile();
      default:
        return flat();
    }
  }

 private:
  // torch.relu(y) at the end, for one.
  void leave_to_torch() {
    const auto& e = *result_;
    const bool known = e.is_call("relu") || e.is_call("sigmoid") || e.is_call("tanh") || e.is_call("abs") ||
                       e.is_call("square") || e.is_call("exp");
    if (!known || !out_.hit(Defect::kInTorch)) return;
    out_.finish_in_torch(e.text);
    result_ = e.children[0];
  }

  TritonWriter::Indices whole() const {
    return matrix_ ? TritonWriter::Indices{i_, j_} : TritonWriter::Indices{k_};
  }

  // The elements whose flat indices are in k.
  void elements(const ExpressionPtr& e, const TritonWriter::Values& bound = {}) {
    const bool columns_first = out_.style.way == Way::kColumnsFirst;
    out_.axis(k_, out_.elements());
    if (matrix_) {
      const bool swapped = out_.hit(Defect::kSwapBounds);
      const auto& length = out_.output.shape[columns_first ? 0 : 1];
      const auto quotient = fmt::format("{} // {}", k_, length), rest = fmt::format("{} % {}", k_, length);
      out_.derived(i_, columns_first != swapped ? rest : quotient, k_);
      out_.derived(j_, columns_first != swapped ? quotient : rest, k_);
    }
    out_.name_mask(k_);
    if (!columns_first) out_.read_flat(k_, out_.output.shape);
    const auto text = out_.value(*e, whole(), bound);
    const bool wrong = matrix_ && !columns_first && out_.hit(Defect::kTarget);
    out_.store(columns_first || wrong ? out_.place() : k_, text);
  }

  void flat_kernel(const std::string& kernel, const ExpressionPtr& e, bool second = false) {
    out_.open_kernel(kernel, {{"BLOCK", block_}});
    out_.line(fmt::format("{} = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", k_));
    TritonWriter::Values bound;
    if (second) {
      const auto stored = out_.name.value_of(out_.output.name);
      out_.axis(k_, out_.elements());
      out_.line(fmt::format("{} = tl.load({} + {}{})", stored, out_.output.name, k_, out_.masked(k_)));
      bound = {{kStored, stored}};
    }
    elements(e, bound);
    out_.close();
  }

  void flat() {
    flat_kernel(out_.name.f, result_);
    launch({out_.blocks(out_.elements(), block_)});
  }

  // The outermost operation in a kernel of its own.
  void passes() {
    auto children = result_->children;
    const auto first = std::exchange(children[0], name(kStored));
    flat_kernel(out_.name.f, first);
    flat_kernel(out_.name.g, with_children(*result_, children), true);
    const auto grid = out_.blocks(out_.elements(), block_);
    out_.open_launch();
    out_.call_kernel(out_.name.f, {grid}, {{"BLOCK", block_}});
    out_.call_kernel(out_.name.g, {grid}, {{"BLOCK", block_}});
    out_.close_launch();
  }

  // As many programs as fit at once.
  void grid_stride() {
    const auto& begin = out_.name.begin;
    out_.open_kernel(out_.name.f, {{"BLOCK", block_}});
    const auto first = "tl.program_id(0) * BLOCK", step = "tl.num_programs(0) * BLOCK";
    out_.open(fmt::format("for {} in range({}, {}, {})", begin, first, out_.elements(), step));
    out_.line(fmt::format("{} = {} + tl.arange(0, BLOCK)", k_, begin));
    elements(result_);
    out_.close(2);
    launch({"1056"});
  }

  // A row, or a part of it, a program.
  void row(bool at_once) {
    const auto &n = out_.output.shape[0], &m = out_.output.shape[1];
    const auto block = at_once ? out_.block_constant(m) : block_;
    out_.open_kernel(out_.name.f, {{"BLOCK", block}});
    out_.line(fmt::format("{} = tl.program_id(0)", i_));
    out_.line(at_once ? fmt::format("{} = tl.arange(0, BLOCK)", j_)
                      : fmt::format("{} = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)", j_));
    columns_and_result(m);
    out_.close();
    const auto rows = out_.hit(Defect::kSwapBounds) ? m : n;
    launch(at_once ? std::vector{rows} : std::vector{rows, out_.blocks(m, block)}, block);
  }

  void columns_and_result(const std::string& m) {
    const auto bound = out_.hit(Defect::kShortBound) ? m + " - 1" : m;
    out_.axis(j_, bound);
    out_.name_mask(j_);
    const auto text = out_.value(*result_, {i_, j_});
    out_.store(out_.place(), text);
  }

  // So many rows and columns.
  void tile() {
    const auto &n = out_.output.shape[0], &m = out_.output.shape[1];
    out_.open_kernel(out_.name.f, {{"BLOCK", block_}});
    out_.line(fmt::format("{} = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]", i_));
    out_.line(fmt::format("{} = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]", j_));
    const bool swapped = out_.hit(Defect::kSwapBounds);
    out_.axis(i_, n);
    out_.axis(j_, m);
    out_.name_mask(i_ + " " + j_);
    const auto text = out_.value(*result_, {i_, j_});
    out_.store(out_.place(), text);
    out_.close();
    launch({out_.blocks(swapped ? m : n, block_), out_.blocks(swapped ? n : m, block_)});
  }

  void launch(const std::vector<std::string>& grid, const std::string& block = "") {
    out_.open_launch();
    out_.call_kernel(out_.name.f, grid, {{"BLOCK", block.empty() ? block_ : block}});
    out_.close_launch();
  }

  TritonWriter& out_;
  const std::string &i_, &j_, &k_;
  std::string block_;
  bool matrix_;
  ExpressionPtr result_;
};

}  // namespace

void write_map(TritonWriter& out) { TritonMap(out).write(); }

}  // namespace temper::traces
