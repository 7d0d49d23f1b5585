// One reduction over everything.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {
namespace {

class Whole {
 public:
  explicit Whole(CudaWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        k_(out.name.k),
        s_(out.variable(step_)),
        dims_(out.program.dims(*step_.value)),
        count_(fmt::format("{}", fmt::join(dims_, " * "))) {}

  void write() {
    write_helpers(out_, false);
    switch (out_.style.way) {
      case Way::kAtomic:
        return atomic();
      case Way::kWorkspace:
        return workspace();
      default:
        return one_block();
    }
  }

 private:
  static constexpr const char* kBlocks = "528";

  void one_block() {
    out_.open_kernel(out_.name.f);
    elements("threadIdx.x", "256");
    out_.line(fmt::format("{} = {};", s_, reduced(step_, s_)));
    divide();
    result();
    out_.close();
    out_.open_launch();
    out_.call_kernel(out_.name.f, "1", "256");
    out_.close();
  }

  // A block's share, reduced.
  void elements(const std::string& first, const std::string& stride) {
    const auto &i = out_.name.i, &j = out_.name.j;
    out_.declare(step_);
    out_.unroll();
    out_.open(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", k_, first, count_, stride));
    bool decoded = false;
    out_.read_with([&, this](const env::TensorSpec& input, const At& at) -> std::string {
      if (input.shape == dims_ && at == At{i, j}) {
        const auto text = fmt::format("{}[{}]", input.name, k_);
        return env::element_size(input.type) < 4 ? "float(" + text + ")" : text;
      }
      decoded = decoded || dims_.size() == 2;
      return "";
    });
    std::vector<std::string> statements;
    const auto text = out_.value(*step_.value, dims_.size() == 2 ? At{i, j} : At{k_}, {}, statements);
    out_.read_with({});
    if (decoded) out_.line(fmt::format("int {0} = {2} / {3}, {1} = {2} % {3};", i, j, k_, dims_.back()));
    out_.declare_temporaries(statements);
    out_.combine(step_, s_, text);
    out_.close();
  }

  void grid_elements() {
    elements("blockIdx.x * blockDim.x + threadIdx.x", "gridDim.x * blockDim.x");
    out_.line(fmt::format("{} = {};", s_, reduced(step_, s_)));
  }

  void divide() {
    if (step_.op == "mean" && dims_.size() == 2 && out_.hit(Defect::kHalfDivide))
      out_.line(fmt::format("{} /= {};", s_, dims_[1]));
    else
      out_.divide(step_, dims_.size() == 1 ? count_ : fmt::format("{} * {}", dims_[0], dims_[1]));
  }

  void result() {
    out_.assign(out_.output.name + "[0]", *out_.program.result, {}, out_.variables(), "threadIdx.x == 0");
  }

  void atomic() {
    out_.open_kernel(out_.name.f);
    grid_elements();
    divide();
    const bool unguarded = out_.hit(Defect::kNoGuard);
    out_.line(
        fmt::format("{}atomicAdd({}, {});", unguarded ? "" : "if (threadIdx.x == 0) ", out_.output.name, s_));
    out_.close();
    out_.open_launch();
    if (!out_.hit(Defect::kNoInit)) out_.line(fmt::format("cudaMemsetAsync({}, 0, 4);", out_.output.name));
    out_.call_kernel(out_.name.f, kBlocks, "256");
    out_.close();
  }

  void workspace() {
    const auto& w = out_.name.w;
    out_.open_kernel(out_.name.f, "float* " + w);
    grid_elements();
    out_.line(fmt::format("if (threadIdx.x == 0) {}[blockIdx.x] = {};", w, s_));
    out_.close();

    out_.open_kernel(out_.name.g, "float* " + w);
    out_.declare(step_);
    out_.line(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += 256)", k_, kBlocks));
    out_.combine(step_, "  " + s_, fmt::format("{}[{}]", w, k_));
    out_.line(fmt::format("{} = {};", s_, reduced(step_, s_)));
    divide();
    result();
    out_.close();

    out_.open_launch();
    out_.line(fmt::format("float* {};", w));
    out_.line(fmt::format("cudaMallocAsync(&{}, {} * 4, 0);", w, kBlocks));
    out_.call_kernel(out_.name.f, kBlocks, "256", w);
    out_.call_kernel(out_.name.g, "1", "256", w);
    out_.line(fmt::format("cudaFreeAsync({}, 0);", w));
    out_.close();
  }

  CudaWriter& out_;
  const ReductionStep& step_;
  const std::string &k_, &s_;
  std::vector<std::string> dims_;
  std::string count_;
};

}  // namespace

void write_whole(CudaWriter& out) { Whole(out).write(); }

}  // namespace temper::traces
