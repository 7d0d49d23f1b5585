// One reduction down the columns.

#include <fmt/format.h>

#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {
namespace {

class TritonColumns {
 public:
  explicit TritonColumns(TritonWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        i_(out.name.i),
        j_(out.name.j),
        s_(out.variable(step_)),
        rows_(out.program.dims(*step_.value).at(0)),
        columns_(out.output.shape[0]),
        block_(fmt::format("{}", out.style.block)) {}

  void write() {
    switch (out_.style.way) {
      case Way::kBlockColumn:
        return column();
      case Way::kThreadColumn:
        return running();
      case Way::kAtomic:
        return atomic();
      case Way::kWorkspace:
        return workspace();
      default:
        return tile();
    }
  }

 private:
  static constexpr const char *kRows = "32", *kParts = "64";

  // A column a program.
  void column() {
    open({{"BLOCK", block_}});
    out_.line(fmt::format("{} = tl.program_id(0)", j_));
    out_.axis(j_, "");
    out_.line(fmt::format("{} = {}", s_, out_.start(step_)));
    out_.open(fmt::format("for {} in {}", out_.name.begin, out_.pieces(rows_)));
    out_.line(fmt::format("{} = {} + tl.arange(0, BLOCK)", i_, out_.name.begin));
    out_.axis(i_, rows_bound());
    const auto text = out_.neutral_value(step_, {i_, j_}, i_, 0);
    out_.line(fmt::format("{} = {}", s_, out_.combined(step_, s_, out_.total(step_, text, 0))));
    out_.close();
    finish();
    launch({{"BLOCK", block_}}, {columns_});
  }

  // Neighbouring columns a program, one row after the other.
  void running() {
    open({{"BLOCK", block_}});
    own_columns(false);
    out_.line(fmt::format("{} = tl.full((BLOCK,), {}, tl.float32)", s_, out_.start(step_)));
    out_.open(fmt::format("for {} in range(0, {})", i_, rows_bound()));
    out_.axis(i_, "");
    const auto text = out_.value(*step_.value, {i_, j_}, out_.variables());
    out_.line(fmt::format("{} = {}", s_, out_.combined(step_, s_, text)));
    out_.close();
    finish();
    launch({{"BLOCK", block_}}, {out_.blocks(columns_, block_)});
  }

  // Neighbouring columns a program, so many rows at a time.
  void tile() {
    const Constants constants = {{"ROWS", kRows}, {"BLOCK", block_}};
    open(constants);
    own_columns(true);
    reduce(out_.pieces(rows_, "ROWS"));
    finish();
    launch(constants, {out_.blocks(columns_, block_)});
  }

  void reduce(const std::string& range) {
    out_.line(fmt::format("{} = tl.full((ROWS, BLOCK), {}, tl.float32)", s_, out_.start(step_)));
    out_.open(fmt::format("for {} in {}", out_.name.begin, range));
    out_.line(fmt::format("{} = {} + tl.arange(0, ROWS)[:, None]", i_, out_.name.begin));
    out_.axis(i_, rows_bound());
    out_.name_mask(i_ + " " + j_);
    const auto text = out_.neutral_value(step_, {i_, j_}, i_, 0);
    out_.line(fmt::format("{} = {}", s_, out_.combined(step_, s_, text)));
    out_.close();
    out_.line(fmt::format("{} = {}", s_, out_.total(step_, s_, 0, true)));
  }

  // Programs take every 64th part of the rows each.
  std::string part_of_rows() const {
    return fmt::format("range(tl.program_id(1) * ROWS, {}, tl.num_programs(1) * ROWS)", rows_);
  }

  void atomic() {
    const Constants constants = {{"ROWS", kRows}, {"BLOCK", block_}};
    open(constants);
    own_columns(true);
    reduce(part_of_rows());
    out_.divide(step_, rows_);
    out_.line(fmt::format("tl.atomic_add({} + {}, {}{})", out_.output.name, j_, s_, out_.masked(j_)));
    out_.close();
    launch(constants, {out_.blocks(columns_, block_), kParts}, !out_.hit(Defect::kNoInit));
  }

  void workspace() {
    const auto& w = out_.name.w;
    const Constants constants = {{"ROWS", kRows}, {"BLOCK", block_}};
    open(constants, w);
    own_columns(true);
    reduce(part_of_rows());
    out_.line(
        fmt::format("tl.store({} + tl.program_id(1) * {} + {}, {}{})", w, columns_, j_, s_, out_.masked(j_)));
    out_.close();

    const bool half = out_.hit(Defect::kHalfBlock);
    out_.open_kernel(out_.name.g, {{"BLOCK", "64"}}, w);
    own_columns(true);
    out_.line(fmt::format("{} = tl.arange(0, {})[:, None]", i_, half ? "32" : kParts));
    out_.axis(i_, "");
    out_.line(fmt::format("{} = tl.load({} + {} * {} + {}{}{})", s_, w, i_, columns_, j_, out_.masked(j_),
                          out_.masked(j_).empty() ? "" : ", other=0.0"));
    out_.line(fmt::format("{} = {}", s_, out_.total(step_, s_, 0, true)));
    finish();

    out_.open_launch();
    out_.line(fmt::format("{} = torch.empty(({}, {}), dtype=torch.float32, device={}.device)", w, kParts,
                          columns_, out_.program.task->inputs[0].name));
    out_.call_kernel(out_.name.f, {out_.blocks(columns_, block_), kParts}, constants, w);
    out_.call_kernel(out_.name.g, {out_.blocks(columns_, "64")}, {{"BLOCK", "64"}}, w);
    out_.close_launch();
  }

  std::string rows_bound() { return out_.hit(Defect::kShortBound) ? rows_ + " - 1" : rows_; }

  void open(const Constants& constants, const std::string& more = "") {
    out_.open_kernel(out_.name.f, constants, more);
    out_.beyond("0.0");
  }

  void own_columns(bool tile) {
    out_.line(
        fmt::format("{} = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK){}", j_, tile ? "[None, :]" : ""));
    out_.axis(j_, columns_);
  }

  void finish() {
    out_.divide(step_, rows_);
    const auto text = out_.value(*out_.program.result, {j_}, out_.variables());
    out_.store(j_, text);
    out_.close();
  }

  void launch(const Constants& constants, const std::vector<std::string>& grid, bool zeroed = false) {
    out_.open_launch(zeroed);
    out_.call_kernel(out_.name.f, grid, constants);
    out_.close_launch();
  }

  TritonWriter& out_;
  const ReductionStep& step_;
  const std::string &i_, &j_, &s_;
  std::string rows_, columns_, block_;
};

}  // namespace

void write_columns(TritonWriter& out) { TritonColumns(out).write(); }

}  // namespace temper::traces
