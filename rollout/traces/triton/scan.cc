// A running reduction along the rows or down the columns.

#include <fmt/format.h>

#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {
namespace {

class TritonScan {
 public:
  explicit TritonScan(TritonWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        along_rows_(step_.axis == 1),
        line_(along_rows_ ? out.name.i : out.name.j),
        at_(along_rows_ ? out.name.j : out.name.i),
        lines_(out.output.shape[along_rows_ ? 0 : 1]),
        length_(out.output.shape[along_rows_ ? 1 : 0]),
        s_(out.variable(step_)),
        block_(out.style.way == Way::kWhole ? out.block_constant(length_)
                                            : fmt::format("{}", out.style.block)) {}

  void write() {
    if (!sums()) {
      out_.line("@triton.jit");
      out_.open(fmt::format("def {}(a, b)", out_.name.larger));
      out_.line(fmt::format("return tl.{}imum(a, b)", step_.op == "amax" ? "max" : "min"));
      out_.close();
    }
    switch (out_.style.way) {
      case Way::kWhole:
        return whole();
      case Way::kThreadColumn:
        return running();
      case Way::kSeveral:
        return pieces(true);
      default:
        return pieces(false);
    }
  }

 private:
  static constexpr const char* kLines = "32";

  bool sums() const { return TritonWriter::sums(step_); }
  TritonWriter::Indices index() const { return {out_.name.i, out_.name.j}; }

  std::string scanned(const std::string& value, int axis) {
    if (out_.hit(Defect::kWrongAxis)) axis = 1 - axis;
    return sums() ? fmt::format("tl.cumsum({}, axis={})", value, axis)
                  : fmt::format("tl.associative_scan({}, {}, {})", value, axis, out_.name.larger);
  }

  // A line a program, all of it one block.
  void whole() {
    out_.open_kernel(out_.name.f, {{"BLOCK", block_}});
    out_.beyond("0.0");
    own_line(false);
    out_.line(fmt::format("{} = tl.arange(0, BLOCK)", at_));
    elements(at_);
    const auto text = out_.value(*step_.value, index());
    out_.line(fmt::format("{} = {}", s_, scanned(text, 0)));
    result(s_);
    out_.close();
    launch({{"BLOCK", block_}}, {lines_});
  }

  // One block of a line after the other; or of several lines at once.
  void pieces(bool several) {
    const Constants constants =
        several ? Constants{{"LINES", kLines}, {"BLOCK", block_}} : Constants{{"BLOCK", block_}};
    const int axis = several && along_rows_ ? 1 : 0;
    const auto &q = out_.name.q, &begin = out_.name.begin;
    out_.open_kernel(out_.name.f, constants);
    out_.beyond("0.0");
    own_line(several);
    const auto shape = along_rows_ ? "(LINES, 1)" : "(1, LINES)";
    out_.line(several ? fmt::format("{} = tl.full({}, {}, tl.float32)", s_, shape, out_.start(step_))
                      : fmt::format("{} = {}", s_, out_.start(step_)));
    out_.open(fmt::format("for {} in {}", begin, out_.pieces(length_)));
    out_.line(fmt::format("{} = {} + tl.arange(0, BLOCK){}", at_, begin, suffix(several, along_rows_)));
    elements(several ? at_ + " " + line_ : at_);
    const auto text = out_.neutral_value(step_, index(), at_, step_.axis);
    const bool atom = text.find_first_of(" (") == std::string::npos;
    const auto value = atom ? text : out_.name.w;
    if (!atom) out_.line(fmt::format("{} = {}", value, text));
    const auto own = scanned(value, axis);
    out_.line(fmt::format("{} = {}", q, out_.hit(Defect::kNoCarry) ? own : out_.combined(step_, own, s_)));
    result(q);
    out_.line(fmt::format("{} = {}", s_, out_.combined(step_, s_, out_.total(step_, value, axis, several))));
    out_.close(2);
    launch(constants, {several ? out_.blocks(lines_, kLines) : lines_});
  }

  // Neighbouring columns a program, one row after the other.
  void running() {
    out_.open_kernel(out_.name.f, {{"BLOCK", block_}});
    out_.line(fmt::format("{} = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", line_));
    out_.axis(line_, lines_);
    out_.name_mask(line_);
    out_.line(fmt::format("{} = tl.full((BLOCK,), {}, tl.float32)", s_, out_.start(step_)));
    const auto length = out_.hit(Defect::kShortBound) ? length_ + " - 1" : length_;
    out_.open(fmt::format("for {} in range(0, {})", at_, length));
    out_.axis(at_, "");
    const auto text = out_.value(*step_.value, index());
    out_.line(fmt::format("{} = {}", s_, out_.combined(step_, s_, text)));
    result(s_);
    out_.close(2);
    launch({{"BLOCK", block_}}, {out_.blocks(lines_, block_)});
  }

  static const char* suffix(bool several, bool inner) {
    return !several ? "" : inner ? "[None, :]" : "[:, None]";
  }

  void own_line(bool several) {
    out_.line(several ? fmt::format("{} = tl.program_id(0) * LINES + tl.arange(0, LINES){}", line_,
                                    suffix(true, !along_rows_))
                      : fmt::format("{} = tl.program_id(0)", line_));
    out_.axis(line_, several ? lines_ : "");
  }

  void elements(const std::string& place) {
    out_.axis(at_, out_.hit(Defect::kShortBound) ? length_ + " - 1" : length_);
    out_.name_mask(place);
  }

  void result(const std::string& scanned) {
    const auto text = out_.value(*out_.program.result, index(), {{step_.name, scanned}});
    out_.store(out_.place(), text);
  }

  void launch(const Constants& constants, const std::vector<std::string>& grid) {
    out_.open_launch();
    out_.call_kernel(out_.name.f, grid, constants);
    out_.close_launch();
  }

  TritonWriter& out_;
  const ReductionStep& step_;
  bool along_rows_;
  const std::string &line_, &at_;
  std::string lines_, length_;
  const std::string& s_;
  std::string block_;
};

}  // namespace

void write_scan(TritonWriter& out) { TritonScan(out).write(); }

}  // namespace temper::traces
