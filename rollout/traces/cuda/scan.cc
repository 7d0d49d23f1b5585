// A running reduction along the rows or down the columns.

#include <fmt/format.h>

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {
namespace {

class Scan {
 public:
  explicit Scan(CudaWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        along_rows_(step_.axis == 1),
        line_(along_rows_ ? out.name.i : out.name.j),
        at_(along_rows_ ? out.name.j : out.name.i),
        lines_(out.output.shape[along_rows_ ? 0 : 1]),
        length_(out.output.shape[along_rows_ ? 1 : 0]),
        s_(out.variable(step_)),
        k_(out.name.k) {}

  void write() {
    switch (out_.style.way) {
      case Way::kWarp:
        return warp();
      case Way::kBlock:
      case Way::kBlockColumn:
        return block();
      default:
        return thread();
    }
  }

 private:
  void thread() {
    out_.open_kernel(out_.name.f);
    out_.line(fmt::format("int {} = blockIdx.x * blockDim.x + threadIdx.x;", line_));
    out_.leave_beyond(line_, lines_);
    out_.declare(step_);
    out_.unroll();
    out_.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", at_, out_.inner_bound(length_)));
    out_.accumulate(step_, index());
    result(s_, "");
    out_.close(2);
    launch(out_.blocks(lines_, 256));
  }

  void warp() {
    const auto &h = out_.name.h, &q = out_.name.q, &r = out_.name.r;
    out_.open_kernel(out_.name.f);
    out_.line(fmt::format("int {} = blockIdx.x * 8 + threadIdx.x / 32, {} = threadIdx.x % 32;", line_, k_));
    out_.leave_beyond(line_, lines_);
    out_.declare(step_);
    open_chunks("32");
    out_.open(fmt::format("for (int {0} = 1; {0} < 32; {0} *= 2)", h));
    out_.line(fmt::format("float {} = __shfl_up_sync(~0u, {}, {});", r, q, h));
    out_.line(fmt::format("if ({} >= {})", k_, h));
    out_.combine(step_, "  " + q, r);
    out_.close();
    if (!out_.hit(Defect::kNoCarry)) out_.combine(step_, q, s_);
    result(q, within());
    out_.line(fmt::format("{} = __shfl_sync(~0u, {}, 31);", s_, q));
    out_.close(2);
    launch(out_.blocks(lines_, 8));
  }

  void block() {
    const auto &h = out_.name.h, &q = out_.name.q, &p = out_.name.p;
    const bool unsafe = out_.hit(Defect::kNoSync);
    out_.open_kernel(out_.name.f);
    out_.line(fmt::format("__shared__ float {}[256];", p));
    out_.line(fmt::format("int {} = blockIdx.x, {} = threadIdx.x;", line_, k_));
    out_.declare(step_);
    open_chunks("256");
    out_.open(fmt::format("for (int {0} = 1; {0} < 256; {0} *= 2)", h));
    out_.line(fmt::format("{}[{}] = {};", p, k_, q));
    out_.line("__syncthreads();");
    out_.line(fmt::format("if ({} >= {})", k_, h));
    out_.combine(step_, "  " + q, fmt::format("{}[{} - {}]", p, k_, h));
    if (!unsafe) out_.line("__syncthreads();");
    out_.close();
    if (!out_.hit(Defect::kNoCarry)) out_.combine(step_, q, s_);
    result(q, within());
    out_.line(fmt::format("if ({} == 255) {}[0] = {};", k_, p, q));
    out_.line("__syncthreads();");
    out_.line(fmt::format("{} = {}[0];", s_, p));
    out_.line("__syncthreads();");
    out_.close(2);
    launch(lines_);
  }

  // A chunk of the line, an element a thread, the neutral one beyond the end.
  void open_chunks(const std::string& width) {
    const auto& q = out_.name.q;
    out_.open(fmt::format("for (int {0} = {1}; {0} - {1} < {2}; {0} += {3})", at_, k_, length_, width));
    out_.line(fmt::format("float {} = {};", q, out_.start(step_)));
    out_.assign(q, *step_.value, index(), {}, within());
  }

  std::string within() const { return fmt::format("{} < {}", at_, length_); }
  At index() const { return {out_.name.i, out_.name.j}; }

  void result(const std::string& value, const std::string& guard) {
    out_.assign(out_.target(), *out_.program.result, index(), {{step_.name, value}}, guard);
  }

  void launch(const std::string& grid) {
    out_.open_launch();
    out_.call_kernel(out_.name.f, grid, "256");
    out_.close();
  }

  CudaWriter& out_;
  const ReductionStep& step_;
  bool along_rows_;
  const std::string &line_, &at_;
  std::string lines_, length_;
  const std::string &s_, &k_;
};

}  // namespace

void write_scan(CudaWriter& out) { Scan(out).write(); }

}  // namespace temper::traces
