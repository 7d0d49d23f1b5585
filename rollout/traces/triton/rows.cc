// Reductions along rows, one after another, and then a number or a row each; softmax among them.

#include <fmt/format.h>

#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {
namespace {

class TritonRows {
 public:
  explicit TritonRows(TritonWriter& out)
      : out_(out),
        i_(out.name.i),
        j_(out.name.j),
        rows_(out.output.shape[0]),
        length_(out.program.dims(*out.program.steps[0].value).at(1)),
        block_(out.style.way == Way::kWhole ? out.block_constant(length_)
                                            : fmt::format("{}", out.style.block)) {}

  void write() {
    if (out_.style.way == Way::kWorkspace) return two_kernels();
    out_.open_kernel(out_.name.f, constants());
    own_row();
    const bool online = out_.style.way == Way::kOnline;
    if (online) maximum_and_sum();
    for (size_t k = online ? 2 : 0; k < out_.program.steps.size(); ++k) reduce(out_.program.steps[k]);
    result();
    out_.close();
    out_.open_launch();
    const bool swapped = out_.output.shape.size() == 2 && !several() && out_.hit(Defect::kSwapBounds);
    const auto rows = swapped ? out_.output.shape[1] : rows_;
    out_.call_kernel(out_.name.f, {several() ? out_.blocks(rows, kRows) : rows}, constants());
    out_.close_launch();
  }

 private:
  static constexpr const char* kRows = "4";

  bool whole() const { return out_.style.way == Way::kWhole; }
  bool several() const { return out_.style.way == Way::kSeveral; }
  bool vectors() const { return out_.style.accumulate == Accumulate::kSimd; }
  Constants constants() const {
    return several() ? Constants{{"ROWS", kRows}, {"BLOCK", block_}} : Constants{{"BLOCK", block_}};
  }

  void own_row() {
    const auto& first = out_.program.steps[0];
    const bool maximum = first.op == "amax" && (out_.program.steps.size() == 1 || out_.program.softmax);
    out_.beyond("-float(\"inf\")");
    if (!maximum || !out_.sinks(*first.value) || out_.hit(Defect::kNoNeutral)) out_.beyond("0.0");
    out_.line(several() ? fmt::format("{} = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]", i_)
                        : fmt::format("{} = tl.program_id(0)", i_));
    out_.axis(i_, several() ? rows_ : "");
    if (!whole()) return;
    out_.line(fmt::format("{} = tl.arange(0, BLOCK)", j_));
    columns();
  }

  void columns() {
    out_.axis(j_, out_.hit(Defect::kShortBound) ? length_ + " - 1" : length_);
    out_.name_mask(several() ? i_ + " " + j_ : j_);
  }

  void open_columns() {
    if (whole()) return;
    out_.open(fmt::format("for {} in {}", out_.name.begin, out_.pieces(length_)));
    out_.line(
        fmt::format("{} = {} + tl.arange(0, BLOCK){}", j_, out_.name.begin, several() ? "[None, :]" : ""));
    columns();
  }
  void close_columns() {
    if (!whole()) out_.close();
  }

  // Along the row; of several rows, a column of results.
  std::string total(const ReductionStep& step, const std::string& value) {
    return out_.total(step, value, several() ? 1 : 0, several());
  }

  // Where nothing of a value differs along the row, it is no block.
  std::string reduced_value(const ReductionStep& step) { return out_.neutral_value(step, {i_, j_}, j_, 1); }

  void reduce(const ReductionStep& step) {
    const auto& s = out_.variable(step);
    if (out_.program.softmax && step.op == "amax" && out_.hit(Defect::kNoMaximum)) {
      out_.line(fmt::format("{} = 0.0", s));
      return;
    }
    if (whole()) {
      out_.line(fmt::format("{} = {}", s, total(step, reduced_value(step))));
    } else {
      const auto shape = several() ? vectors() ? "(ROWS, BLOCK)" : "(ROWS, 1)" : vectors() ? "(BLOCK,)" : "";
      out_.line(*shape ? fmt::format("{} = tl.full({}, {}, tl.float32)", s, shape, out_.start(step))
                       : fmt::format("{} = {}", s, out_.start(step)));
      open_columns();
      const auto text = reduced_value(step);
      out_.line(fmt::format("{} = {}", s, out_.combined(step, s, vectors() ? text : total(step, text))));
      close_columns();
      if (vectors()) out_.line(fmt::format("{0} = {1}", s, total(step, s)));
    }
    out_.divide(step, length_);
  }

  // The sum is made smaller each time that the maximum grows.
  void maximum_and_sum() {
    const auto &maximum = out_.program.steps[0], &sum = out_.program.steps[1];
    const auto &t = out_.variable(maximum), &s = out_.variable(sum), &q = out_.name.q;
    out_.line(fmt::format("{} = -float(\"inf\")", t));
    out_.line(fmt::format("{} = 0.0", s));
    open_columns();
    const auto text = reduced_value(maximum);
    const auto& v = out_.name.larger;
    out_.line(fmt::format("{} = {}", v, text));
    out_.line(fmt::format("{} = tl.maximum({}, {})", q, t, out_.total(maximum, v, 0)));
    const bool forgotten = out_.hit(Defect::kNoRescale);
    out_.line(fmt::format("{0} = {0}{1} + tl.sum(tl.exp({2} - {3}), axis=0)", s,
                          forgotten ? "" : fmt::format(" * tl.exp({} - {})", t, q), v, q));
    out_.line(fmt::format("{} = {}", t, q));
    close_columns();
  }

  void result() {
    const auto& result = *out_.program.result;
    if (out_.output.shape.size() == 1) {
      const auto text = out_.value(result, {i_}, out_.variables());
      return out_.store(i_, text);
    }
    open_columns();
    const auto text = out_.value(result, {i_, j_}, out_.variables());
    out_.store(out_.place(), text);
    close_columns();
  }

  // The reduction into memory of the launcher's, then the elements: what is not fused.
  void two_kernels() {
    const auto& step = out_.program.steps[0];
    const auto &w = out_.name.w, &k = out_.name.k, &s = out_.variable(step);
    out_.open_kernel(out_.name.f, constants(), w);
    own_row();
    reduce(step);
    out_.line(fmt::format("tl.store({} + {}, {})", w, i_, s));
    out_.close();

    out_.open_kernel(out_.name.g, {{"BLOCK", "1024"}}, w);
    out_.line(fmt::format("{} = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", k));
    out_.axis(k, out_.elements());
    out_.derived(i_, fmt::format("{} // {}", k, length_), k);
    out_.derived(j_, fmt::format("{} % {}", k, length_), k);
    out_.name_mask(k);
    out_.read_flat(k, out_.output.shape);
    out_.define(i_);
    out_.line(fmt::format("{} = tl.load({} + {}{})", s, w, i_, out_.masked(k)));
    const auto text = out_.value(*out_.program.result, {i_, j_}, out_.variables());
    out_.store(k, text);
    out_.close();

    out_.open_launch();
    out_.line(fmt::format("{} = torch.empty(({},), dtype=torch.float32, device={}.device)", w, rows_,
                          out_.program.task->inputs[0].name));
    out_.call_kernel(out_.name.f, {rows_}, constants(), w);
    out_.call_kernel(out_.name.g, {out_.blocks(out_.elements(), "1024")}, {{"BLOCK", "1024"}}, w);
    out_.close_launch();
  }

  TritonWriter& out_;
  const std::string &i_, &j_;
  std::string rows_, length_, block_;
};

}  // namespace

void write_rows(TritonWriter& out) { TritonRows(out).write(); }

}  // namespace temper::traces
