// One reduction down the columns.

#include <fmt/format.h>

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {
namespace {

class Columns {
 public:
  explicit Columns(CudaWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        i_(out.name.i),
        j_(out.name.j),
        k_(out.name.k),
        s_(out.variable(step_)),
        rows_(out.program.dims(*step_.value).at(0)),
        columns_(out.output.shape[0]) {}

  void write() {
    switch (out_.style.way) {
      case Way::kBlockColumn:
        return block();
      case Way::kTile:
        return tile();
      case Way::kAtomic:
        return atomic();
      case Way::kWorkspace:
        return workspace();
      default:
        return thread();
    }
  }

 private:
  void thread() {
    open_thread_kernel("");
    down("0", "1");
    out_.divide(step_, rows_);
    result("");
    out_.close();
    launch(out_.blocks(columns_, 256), "256");
  }

  void open_thread_kernel(const std::string& more) {
    out_.open_kernel(out_.name.f, more);
    out_.line(fmt::format("int {} = blockIdx.x * blockDim.x + threadIdx.x;", j_));
    out_.leave_beyond(j_, columns_);
  }

  void block() {
    write_helpers(out_, false);
    out_.open_kernel(out_.name.f);
    out_.line(fmt::format("int {} = blockIdx.x, {} = threadIdx.x;", j_, k_));
    down(k_, "256");
    out_.line(fmt::format("{} = {};", s_, reduced(step_, s_)));
    out_.divide(step_, rows_);
    result(k_ + " == 0");
    out_.close();
    launch(columns_, "256");
  }

  void tile() {
    const auto &p = out_.name.p, &h = out_.name.h;
    out_.open_kernel(out_.name.f);
    out_.line(fmt::format("__shared__ float {}[32][32];", p));
    out_.line(fmt::format("int {} = blockIdx.x * 32 + threadIdx.x, {} = threadIdx.y;", j_, k_));
    out_.declare(step_);
    out_.unroll();
    const bool unguarded = out_.hit(Defect::kNoBounds);
    out_.open(fmt::format("for (int {0} = {1}; {0} < {2}{3}; {0} += 32)", i_, k_, rows_,
                          unguarded ? "" : fmt::format(" && {} < {}", j_, columns_)));
    out_.accumulate(step_, {i_, j_});
    out_.close();
    out_.line(fmt::format("{}[{}][threadIdx.x] = {};", p, k_, s_));
    if (!out_.hit(Defect::kNoSync)) out_.line("__syncthreads();");
    out_.line(unguarded ? fmt::format("if ({}) return;", k_)
                        : fmt::format("if ({} || {} >= {}) return;", k_, j_, columns_));
    out_.line(fmt::format("for (int {0} = 1; {0} < {1}; ++{0})", h, out_.hit(Defect::kHalfBlock) ? 16 : 32));
    out_.combine(step_, "  " + s_, fmt::format("{}[{}][threadIdx.x]", p, h));
    out_.divide(step_, rows_);
    result("");
    out_.close();
    launch(out_.blocks(columns_, 32), "dim3(32, 32)");
  }

  void atomic() {
    open_thread_kernel("");
    down("blockIdx.y", "gridDim.y");
    const bool divided = step_.op == "mean" && !out_.hit(Defect::kNoDivide);
    out_.line(fmt::format("atomicAdd({} + {}, {});", out_.output.name, j_,
                          divided ? fmt::format("{} / {}", s_, rows_) : s_));
    out_.close();
    out_.open_launch();
    if (!out_.hit(Defect::kNoInit))
      out_.line(fmt::format("cudaMemsetAsync({}, 0, {} * 4);", out_.output.name, columns_));
    out_.call_kernel(out_.name.f, grid(), "256");
    out_.close();
  }

  std::string grid() { return fmt::format("dim3({}, 64)", out_.blocks(columns_, 256)); }

  void workspace() {
    const auto& w = out_.name.w;
    open_thread_kernel("float* " + w);
    down("blockIdx.y", "gridDim.y");
    out_.line(fmt::format("{}[blockIdx.y * {} + {}] = {};", w, columns_, j_, s_));
    out_.close();

    out_.open_kernel(out_.name.g, "float* " + w);
    out_.line(fmt::format("int {} = blockIdx.x * blockDim.x + threadIdx.x;", j_));
    out_.leave_beyond(j_, columns_);
    out_.line(fmt::format("float {} = {}[{}];", s_, w, j_));
    out_.line(fmt::format("for (int {0} = 1; {0} < {1}; ++{0})", i_, out_.hit(Defect::kHalfBlock) ? 32 : 64));
    out_.combine(step_, "  " + s_, fmt::format("{}[{} * {} + {}]", w, i_, columns_, j_));
    out_.divide(step_, rows_);
    result("");
    out_.close();

    out_.open_launch();
    out_.line(fmt::format("float* {};", w));
    out_.line(fmt::format("cudaMallocAsync(&{}, {} * 256, 0);", w, columns_));
    out_.call_kernel(out_.name.f, grid(), "256", w);
    out_.call_kernel(out_.name.g, out_.blocks(columns_, 256), "256", w);
    out_.line(fmt::format("cudaFreeAsync({}, 0);", w));
    out_.close();
  }

  void down(const std::string& first, const std::string& stride) {
    out_.declare(step_);
    out_.unroll();
    const auto next = stride == "1" ? "++" + i_ : fmt::format("{} += {}", i_, stride);
    out_.open(fmt::format("for (int {0} = {1}; {0} < {2}; {3})", i_, first, out_.inner_bound(rows_), next));
    out_.accumulate(step_, {i_, j_});
    out_.close();
  }

  void result(const std::string& guard) {
    out_.assign(fmt::format("{}[{}]", out_.output.name, j_), *out_.program.result, {j_}, out_.variables(),
                guard);
  }

  void launch(const std::string& grid, const std::string& block) {
    out_.open_launch();
    out_.call_kernel(out_.name.f, grid, block);
    out_.close();
  }

  CudaWriter& out_;
  const ReductionStep& step_;
  const std::string &i_, &j_, &k_, &s_;
  std::string rows_, columns_;
};

}  // namespace

void write_columns(CudaWriter& out) { Columns(out).write(); }

}  // namespace temper::traces
