// The product of two matrices.

#include <fmt/format.h>

#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {
namespace {

class TritonProduct {
 public:
  explicit TritonProduct(TritonWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        i_(out.name.i),
        j_(out.name.j),
        s_(out.variable(step_)),
        n_(out.output.shape[0]),
        m_(out.output.shape[1]),
        inner_(out.program.dims(left()).at(1)),
        block_(fmt::format("{}", out.style.block)),
        constants_({{"BLOCK", block_}}) {
    // Factors that are loaded as they are may be narrow; made ones are f32, and then both.
    narrow_ = type_of(left()) != env::ElementType::kF32 && type_of(left()) == type_of(right());
    if (out.style.way != Way::kNoDot) constants_.emplace_back("INNER", narrow_ ? "64" : "32");
  }

  void write() {
    out_.open_kernel(out_.name.f, constants_);
    out_.beyond("0.0");
    switch (out_.style.way) {
      case Way::kGrouped:
        grouped();
        break;
      case Way::kPersistent:
        persistent();
        break;
      default:
        tile("tl.program_id(0)", "tl.program_id(1)");
    }
    out_.close();
    out_.open_launch();
    const auto rows = out_.blocks(n_, block_), columns = out_.blocks(m_, block_);
    const bool swapped = out_.hit(Defect::kSwapBounds);
    if (out_.style.way == Way::kPersistent)
      out_.call_kernel(out_.name.f, {"132"}, constants_);
    else if (out_.style.way == Way::kGrouped)
      out_.call_kernel(out_.name.f, {rows + " * " + columns}, constants_);
    else
      out_.call_kernel(out_.name.f, {swapped ? columns : rows, swapped ? rows : columns}, constants_);
    out_.close_launch();
  }

 private:
  const Expression& left() const { return *step_.value->children[0]; }
  const Expression& right() const { return *step_.value->children[1]; }

  // Of an input, transposed or not; what is made is f32.
  env::ElementType type_of(const Expression& factor) const {
    const auto& e = factor.is_call("t") ? *factor.children[0] : factor;
    for (const auto& input : out_.program.task->inputs) {
      if (e.is_name() && e.text == input.name && env::is_float(input.type)) return input.type;
    }
    return env::ElementType::kF32;
  }

  void tile(const std::string& down, const std::string& across) {
    out_.line(fmt::format("{} = {} * BLOCK + tl.arange(0, BLOCK)[:, None]", i_, down));
    out_.line(fmt::format("{} = {} * BLOCK + tl.arange(0, BLOCK)[None, :]", j_, across));
    out_.axis(i_, n_);
    out_.axis(j_, m_);
    out_.line(fmt::format("{} = tl.zeros((BLOCK, BLOCK), tl.float32)", s_));
    if (out_.style.way == Way::kNoDot)
      columns_times_rows();
    else
      dots();
    const auto text = out_.value(*out_.program.result, {i_, j_}, out_.variables());
    out_.store(out_.place(), text);
  }

  void columns_times_rows() {
    const auto& l = out_.name.l;
    const auto bound = out_.hit(Defect::kShortBound) ? inner_ + " - 1" : inner_;
    out_.open(fmt::format("for {} in range(0, {})", l, bound));
    out_.axis(l, "");
    const auto text = out_.value(*step_.value, {i_, j_});
    out_.line(fmt::format("{0} = {0} + {1}", s_, text));
    out_.close();
  }

  void dots() {
    const auto &l = out_.name.l, &h = out_.name.h, &begin = out_.name.begin;
    out_.open(fmt::format("for {} in {}", begin, out_.pieces(inner_, "INNER")));
    out_.line(fmt::format("{} = {} + tl.arange(0, INNER)[None, :]", l, begin));
    out_.line(fmt::format("{} = {} + tl.arange(0, INNER)[:, None]", h, begin));
    out_.axis(l, inner_);
    out_.axis(h, inner_);
    out_.raw = narrow_;
    const auto one = out_.zero_beyond(out_.value(left(), {i_, l}), left(), l, 1);
    const auto other = out_.zero_beyond(out_.value(right(), {h, j_}), right(), h, 0);
    out_.raw = false;
    const char* precision = narrow_ || out_.hit(Defect::kTf32) ? "" : ", input_precision=\"ieee\"";
    out_.line(fmt::format("{0} = tl.dot({1}, {2}, {0}{3})", s_, one, other, precision));
    out_.close();
  }

  // Eight rows of tiles at a time, so that what they share stays near.
  void grouped() {
    const auto &q = out_.name.q, &group = out_.name.group, &size = out_.name.size;
    const auto columns = fmt::format("tl.cdiv({}, BLOCK)", m_);
    out_.line(fmt::format("{} = tl.program_id(0)", q));
    out_.line(fmt::format("{} = {} // (8 * {}) * 8", group, q, columns));
    out_.line(fmt::format("{} = min(tl.cdiv({}, BLOCK) - {}, 8)", size, n_, group));
    out_.line(fmt::format("{0} = {0} % (8 * {1})", q, columns));
    tile(fmt::format("({} + {} % {})", group, q, size), fmt::format("({} // {})", q, size));
  }

  void persistent() {
    const auto& q = out_.name.q;
    const auto columns = fmt::format("tl.cdiv({}, BLOCK)", m_);
    out_.open(fmt::format("for {} in range(tl.program_id(0), tl.cdiv({}, BLOCK) * {}, tl.num_programs(0))", q,
                          n_, columns));
    tile(fmt::format("({} // {})", q, columns), fmt::format("({} % {})", q, columns));
    out_.close();
  }

  TritonWriter& out_;
  const ReductionStep& step_;
  const std::string &i_, &j_, &s_;
  std::string n_, m_, inner_, block_;
  Constants constants_;
  bool narrow_ = false;
};

}  // namespace

void write_product(TritonWriter& out) { TritonProduct(out).write(); }

}  // namespace temper::traces
