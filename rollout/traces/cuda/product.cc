// The product of two matrices.

#include <fmt/format.h>

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {
namespace {

class Product {
 public:
  explicit Product(CudaWriter& out)
      : out_(out),
        step_(out.program.steps[0]),
        i_(out.name.i),
        j_(out.name.j),
        l_(out.name.l),
        s_(out.variable(step_)),
        n_(out.output.shape[0]),
        m_(out.output.shape[1]),
        inner_(out.program.dims(left()).at(1)) {}

  void write() {
    switch (out_.style.way) {
      case Way::kTile:
        return tile();
      case Way::kRegisters:
        return registers();
      default:
        return element();
    }
  }

 private:
  const Expression& left() const { return *step_.value->children[0]; }
  const Expression& right() const { return *step_.value->children[1]; }

  void element() {
    const bool columns = out_.style.way == Way::kColumnsFirst;  // neighbours in a column: slow
    out_.open_kernel(out_.name.f);
    out_.line(
        fmt::format("int {0} = blockIdx.{2} * 16 + threadIdx.{2}, {1} = blockIdx.{3} * 16 + threadIdx.{3};",
                    i_, j_, columns ? "x" : "y", columns ? "y" : "x"));
    if (!out_.hit(Defect::kNoBounds))
      out_.line(fmt::format("if ({} >= {} || {} >= {}) return;", i_, n_, j_, m_));
    out_.declare(step_);
    out_.unroll();
    out_.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", l_, out_.inner_bound(inner_)));
    out_.accumulate(step_, {i_, j_});
    out_.close();
    out_.assign(out_.target(), *out_.program.result, {i_, j_}, out_.variables());
    out_.close();
    launch(columns ? n_ : m_, columns ? m_ : n_, 16);
  }

  void tile() {
    const auto &p = out_.name.p, &r = out_.name.r, &h = out_.name.h, &k = out_.name.k, &q = out_.name.q;
    out_.open_kernel(out_.name.f);
    out_.line(fmt::format("__shared__ float {}[16][16], {}[16][16];", p, r));
    out_.line(fmt::format(
        "int {} = threadIdx.y, {} = threadIdx.x, {} = blockIdx.y * 16 + {}, {} = blockIdx.x * 16 + {};", k, q,
        i_, k, j_, q));
    out_.declare(step_);
    open_tiles(16);
    const auto column = fmt::format("{} + {}", l_, q), row = fmt::format("{} + {}", l_, k);
    load(fmt::format("{}[{}][{}]", p, k, q), left(), {i_, column}, i_, n_, column, inner_);
    load(fmt::format("{}[{}][{}]", r, k, q), right(), {row, j_}, row, inner_, j_, m_);
    if (!out_.hit(Defect::kNoSync)) out_.line("__syncthreads();");
    out_.line(fmt::format("for (int {0} = 0; {0} < 16; ++{0}) {1} += {2}[{3}][{0}] * {4}[{0}][{5}];", h, s_,
                          p, k, r, q));
    out_.line("__syncthreads();");
    out_.close();
    out_.assign(out_.target(), *out_.program.result, {i_, j_}, out_.variables(), inside());
    out_.close();
    launch(m_, n_, 16);
  }

  // 64 × 64 elements a block, 4 × 4 a thread.
  void registers() {
    const auto &p = out_.name.p, &r = out_.name.r, &h = out_.name.h, &k = out_.name.k, &q = out_.name.q;
    const auto& w = out_.name.w;
    out_.open_kernel(out_.name.f);
    out_.line(fmt::format("__shared__ float {}[16][64], {}[16][64];", p, r));
    out_.line(fmt::format("float {}[4][4] = {{}};", s_));
    open_tiles(16);
    out_.open(fmt::format("for (int {0} = threadIdx.y * 16 + threadIdx.x; {0} < 1024; {0} += 256)", k));
    const auto i = fmt::format("blockIdx.y * 64 + {} / 16", k),
               j = fmt::format("blockIdx.x * 64 + {} % 64", k);
    const auto column = fmt::format("{} + {} % 16", l_, k), row = fmt::format("{} + {} / 64", l_, k);
    out_.line(fmt::format("int {} = {}, {} = {};", i_, i, j_, j));
    load(fmt::format("{0}[{1} % 16][{1} / 16]", p, k), left(), {i_, column}, i_, n_, column, inner_);
    load(fmt::format("{0}[{1} / 64][{1} % 64]", r, k), right(), {row, j_}, row, inner_, j_, m_);
    out_.close();
    if (!out_.hit(Defect::kNoSync)) out_.line("__syncthreads();");
    out_.line(fmt::format("for (int {0} = 0; {0} < 16; ++{0})", h));
    out_.line(fmt::format("  for (int {0} = 0; {0} < 4; ++{0})", q));
    out_.line(fmt::format("    for (int {0} = 0; {0} < 4; ++{0})", w));
    out_.line(fmt::format(
        "      {0}[{1}][{2}] += {3}[{4}][threadIdx.y * 4 + {1}] * {5}[{4}][threadIdx.x * 4 + {2}];", s_, q, w,
        p, h, r));
    out_.line("__syncthreads();");
    out_.close();
    out_.open(fmt::format("for (int {0} = 0; {0} < 16; ++{0})", k));
    out_.line(
        fmt::format("int {0} = blockIdx.y * 64 + threadIdx.y * 4 + {2} / 4, {1} = blockIdx.x * 64 + "
                    "threadIdx.x * 4 + {2} % 4;",
                    i_, j_, k));
    const auto value = fmt::format("{0}[{1} / 4][{1} % 4]", s_, k);
    out_.assign(out_.target(), *out_.program.result, {i_, j_}, {{step_.name, value}}, inside());
    out_.close(2);
    launch(m_, n_, 64, 16);
  }

  void open_tiles(int width) {
    if (out_.hit(Defect::kLastTile))
      out_.open(fmt::format("for (int {0} = 0; {0} + {2} <= {1}; {0} += {2})", l_, inner_, width));
    else
      out_.open(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2})", l_, inner_, width));
  }

  // An element of a factor into shared memory, 0 beyond its end.
  void load(const std::string& to, const Expression& factor, const At& at, const std::string& row,
            const std::string& rows, const std::string& column, const std::string& columns) {
    std::vector<std::string> statements;
    const auto text = out_.value(factor, at, {}, statements);
    const auto within = fmt::format("{} < {} && {} < {}", row, rows, column, columns);
    if (out_.hit(Defect::kNoBounds)) {
      out_.line(fmt::format("{} = {};", to, text));
    } else if (statements.empty()) {
      out_.line(fmt::format("{} = {} ? {} : 0;", to, within, text));
    } else {
      out_.line(fmt::format("{} = 0;", to));
      out_.open(fmt::format("if ({})", within));
      out_.declare_temporaries(statements);
      out_.line(fmt::format("{} = {};", to, text));
      out_.close();
    }
  }

  std::string inside() { return fmt::format("{} < {} && {} < {}", i_, n_, j_, m_); }

  void launch(const std::string& x, const std::string& y, int width, int threads = 16) {
    out_.open_launch();
    const auto grid = fmt::format("dim3({}, {})", out_.blocks(x, width), out_.blocks(y, width));
    out_.call_kernel(out_.name.f, grid, fmt::format("dim3({0}, {0})", threads));
    out_.close();
  }

  CudaWriter& out_;
  const ReductionStep& step_;
  const std::string &i_, &j_, &l_, &s_;
  std::string n_, m_, inner_;
};

}  // namespace

void write_product(CudaWriter& out) { Product(out).write(); }

}  // namespace temper::traces
