// Reductions along rows, one after another, and then a number or a row each; softmax among them.

#include <fmt/format.h>

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {
namespace {

class Rows {
 public:
  explicit Rows(CudaWriter& out)
      : out_(out),
        i_(out.name.i),
        j_(out.name.j),
        k_(out.name.k),
        rows_(out.output.shape[0]),
        length_(out.program.dims(*out.program.steps[0].value).at(1)) {}

  void write() {
    if (out_.style.way == Way::kWorkspace) return two_kernels();
    if (!thread()) write_helpers(out_, warp());
    out_.open_kernel(out_.name.f);
    own_row();
    const bool online = out_.style.way == Way::kOnline;
    if (online) maximum_and_sum();
    for (size_t k = online ? 2 : 0; k < out_.program.steps.size(); ++k) reduce(out_.program.steps[k]);
    result();
    out_.close();
    launch();
  }

 private:
  bool thread() const { return out_.style.way == Way::kThreadRow; }
  bool warp() const { return out_.style.way == Way::kWarp || out_.style.way == Way::kOnline; }

  void own_row() {
    if (thread()) {
      out_.line(fmt::format("int {} = blockIdx.x * blockDim.x + threadIdx.x;", i_));
    } else if (warp()) {
      out_.line(fmt::format("int {} = blockIdx.x * 8 + threadIdx.x / 32, {} = threadIdx.x % 32;", i_, k_));
    } else {
      out_.line(fmt::format("int {} = blockIdx.x, {} = threadIdx.x;", i_, k_));
    }
    if (thread() || warp()) out_.leave_beyond(i_, rows_);
  }

  void open_columns() {
    const auto bound = out_.inner_bound(length_);
    out_.unroll();
    if (thread())
      out_.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", j_, bound));
    else
      out_.open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", j_, k_, bound, warp() ? 32 : 256));
  }

  void reduce(const ReductionStep& step) {
    // The maximum of a softmax that forgets it is 0.
    if (out_.program.softmax && step.op == "amax" && out_.hit(Defect::kNoMaximum)) {
      out_.line(fmt::format("float {} = 0;", out_.variable(step)));
      return;
    }
    out_.declare(step);
    open_columns();
    out_.accumulate(step, {i_, j_});
    out_.close();
    if (!thread())
      out_.line(fmt::format("{0} = {1};", out_.variable(step), reduced(step, out_.variable(step))));
    out_.divide(step, length_);
  }

  // The sum is made smaller each time that the maximum grows.
  void maximum_and_sum() {
    const auto &maximum = out_.program.steps[0], &sum = out_.program.steps[1];
    const auto &t = out_.variable(maximum), &s = out_.variable(sum), &q = out_.name.q, &h = out_.name.h;
    out_.line(fmt::format("float {} = -INFINITY, {} = 0;", t, s));
    open_columns();
    const auto v = out_.value(*maximum.value, {i_, j_});
    out_.line(fmt::format("float {} = {}, {} = fmaxf({}, {});", q, v, h, t, q));
    const bool forgotten = out_.hit(Defect::kNoRescale);
    out_.line(fmt::format("{0} = {0}{1} + expf({2} - {3});", s,
                          forgotten ? "" : fmt::format(" * expf({} - {})", t, h), q, h));
    out_.line(fmt::format("{} = {};", t, h));
    out_.close();
    out_.line(fmt::format("float {} = {};", out_.name.w, t));
    out_.line(fmt::format("{} = {};", t, reduced(maximum, t)));
    out_.line(fmt::format("{} = {};", s, reduced(sum, fmt::format("{} * expf({} - {})", s, out_.name.w, t))));
  }

  void result() {
    const auto& y = out_.output.name;
    if (out_.output.shape.size() == 1) {
      const auto guard = thread() ? "" : fmt::format("{} == 0", k_);
      return out_.assign(fmt::format("{}[{}]", y, i_), *out_.program.result, {i_}, out_.variables(), guard);
    }
    open_columns();
    out_.assign(out_.target(), *out_.program.result, {i_, j_}, out_.variables());
    out_.close();
  }

  void launch() {
    const bool swapped =
        out_.output.shape.size() == 2 && !thread() && !warp() && out_.hit(Defect::kSwapBounds);
    const auto rows = swapped ? out_.output.shape[1] : rows_;
    out_.open_launch();
    const auto grid = thread() ? out_.blocks(rows, 256) : warp() ? out_.blocks(rows, 8) : rows;
    out_.call_kernel(out_.name.f, grid, "256");
    out_.close();
  }

  // The reduction into memory of the launcher's, then the elements: what is not fused.
  void two_kernels() {
    const auto& step = out_.program.steps[0];
    const auto& w = out_.name.w;
    write_helpers(out_, false);
    out_.open_kernel(out_.name.f, "float* " + w);
    own_row();
    reduce(step);
    out_.line(fmt::format("if ({} == 0) {}[{}] = {};", k_, w, i_, out_.variable(step)));
    out_.close();

    bool decoded = false;
    out_.open_kernel(out_.name.g, "float* " + w);
    out_.line(fmt::format("int {} = blockIdx.x * blockDim.x + threadIdx.x;", k_));
    out_.leave_beyond(k_, out_.elements());
    decode(out_, k_);
    read_flat(out_, k_, decoded);
    out_.assign(fmt::format("{}[{}]", out_.output.name, k_), *out_.program.result, {i_, j_},
                {{step.name, fmt::format("{}[{}]", w, i_)}});
    out_.read_with({});
    out_.close();

    out_.open_launch();
    out_.line(fmt::format("float* {};", w));
    out_.line(fmt::format("cudaMallocAsync(&{}, {} * 4, 0);", w, rows_));
    out_.call_kernel(out_.name.f, rows_, "256", w);
    out_.call_kernel(out_.name.g, out_.blocks(out_.elements(), 256), "256", w);
    out_.line(fmt::format("cudaFreeAsync({}, 0);", w));
    out_.close();
  }

  CudaWriter& out_;
  const std::string &i_, &j_, &k_;
  std::string rows_, length_;
};

}  // namespace

void write_rows(CudaWriter& out) { Rows(out).write(); }

}  // namespace temper::traces
