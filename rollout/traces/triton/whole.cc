// One reduction over everything.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {
namespace {

class TritonWhole {
 public:
  explicit TritonWhole(TritonWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        k_(out.name.k),
        s_(out.variable(step_)),
        dims_(out.program.dims(*step_.value)),
        count_(fmt::format("{}", fmt::join(dims_, " * "))),
        block_(fmt::format("{}", out.style.block)) {}

  void write() {
    switch (out_.style.way) {
      case Way::kAtomic:
        return atomic();
      case Way::kWorkspace:
        return workspace();
      default:
        return one_program();
    }
  }

 private:
  static constexpr const char* kPrograms = "512";

  Constants constants() const { return {{"BLOCK", block_}}; }

  void one_program() {
    out_.open_kernel(out_.name.f, constants());
    elements(out_.pieces(count_));
    finish();
    out_.open_launch();
    out_.call_kernel(out_.name.f, {"1"}, constants());
    out_.close_launch();
  }

  // A program's share, reduced.
  void elements(const std::string& range) {
    const bool vectors = out_.style.accumulate == Accumulate::kSimd;
    out_.beyond("0.0");
    out_.line(vectors ? fmt::format("{} = tl.full((BLOCK,), {}, tl.float32)", s_, out_.start(step_))
                      : fmt::format("{} = {}", s_, out_.start(step_)));
    out_.open(fmt::format("for {} in {}", out_.name.begin, range));
    out_.line(fmt::format("{} = {} + tl.arange(0, BLOCK)", k_, out_.name.begin));
    out_.axis(k_, count_);
    const bool matrix = dims_.size() == 2;
    if (matrix) {
      out_.derived(out_.name.i, fmt::format("{} // {}", k_, dims_[1]), k_);
      out_.derived(out_.name.j, fmt::format("{} % {}", k_, dims_[1]), k_);
    }
    out_.name_mask(k_);
    out_.read_flat(k_, dims_);
    const TritonWriter::Indices at =
        matrix ? TritonWriter::Indices{out_.name.i, out_.name.j} : TritonWriter::Indices{k_};
    const auto text = out_.neutral_value(step_, at, k_, -1);
    out_.line(
        fmt::format("{} = {}", s_, out_.combined(step_, s_, vectors ? text : out_.total(step_, text, 0))));
    out_.close();
    if (vectors) out_.line(fmt::format("{} = {}", s_, out_.total(step_, s_, 0)));
  }

  void share() {
    elements(fmt::format("range(tl.program_id(0) * BLOCK, {}, tl.num_programs(0) * BLOCK)", count_));
  }

  void finish() {
    out_.divide(step_, count_);
    const auto text = out_.value(*out_.program.result, {}, out_.variables());
    out_.line(fmt::format("tl.store({}, {})", out_.output.name, text));
    out_.close();
  }

  void atomic() {
    out_.open_kernel(out_.name.f, constants());
    share();
    out_.divide(step_, count_);
    out_.line(fmt::format("tl.atomic_add({}, {})", out_.output.name, s_));
    out_.close();
    out_.open_launch(!out_.hit(Defect::kNoInit));
    out_.call_kernel(out_.name.f, {kPrograms}, constants());
    out_.close_launch();
  }

  void workspace() {
    const auto& w = out_.name.w;
    out_.open_kernel(out_.name.f, constants(), w);
    share();
    out_.line(fmt::format("tl.store({} + tl.program_id(0), {})", w, s_));
    out_.close();

    const bool half = out_.hit(Defect::kHalfBlock);
    out_.open_kernel(out_.name.g, {{"BLOCK", half ? "256" : kPrograms}}, w);
    out_.line(fmt::format("{} = tl.load({} + tl.arange(0, BLOCK))", s_, w));
    out_.line(fmt::format("{} = {}", s_, out_.total(step_, s_, 0)));
    finish();

    out_.open_launch();
    out_.line(fmt::format("{} = torch.empty(({},), dtype=torch.float32, device={}.device)", w, kPrograms,
                          out_.program.task->inputs[0].name));
    out_.call_kernel(out_.name.f, {kPrograms}, constants(), w);
    out_.call_kernel(out_.name.g, {"1"}, {{"BLOCK", half ? "256" : kPrograms}}, w);
    out_.close_launch();
  }

  TritonWriter& out_;
  const ReductionStep& step_;
  const std::string &k_, &s_;
  std::vector<std::string> dims_;
  std::string count_, block_;
};

}  // namespace

void write_whole(TritonWriter& out) { TritonWhole(out).write(); }

}  // namespace temper::traces
