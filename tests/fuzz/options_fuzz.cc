// A file of options; what was taken is written, and reads back as the same.

#include "base/options.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper {

namespace {

struct Inner {
  bool flag = true;
  double rate = 0.5;
  std::vector<std::string> names = {"a"};
  void visit(OptionVisitor& v) {
    v.option("flag", flag, {.help = "a flag"});
    v.option("rate", rate, {.help = "a rate", .min = 0, .max = 1e9});
    v.option("names", names, {.help = "names", .text = TextKind::kName});
  }
};

struct All {
  int64_t count = 3;
  std::string text = "", kind = "one";
  std::vector<int64_t> counts = {1, 2};
  std::vector<double> rates;
  Inner inner;
  void visit(OptionVisitor& v) {
    v.option("count", count, {.help = "a count", .min = -5});
    v.option("text", text, {.help = "a text", .text = TextKind::kPath});
    v.option("kind", kind, {.help = "a kind", .choices = {"one", "two"}});
    v.option("counts", counts, {.help = "counts"});
    v.option("rates", rates, {.help = "rates"});
    v.section("inner", inner, "more");
  }
};

std::string read(const std::string& path, const std::vector<std::string>& words) {
  All all;
  const auto visit = [&](OptionVisitor& v) { all.visit(v); };
  Problems problems;
  read_options(visit, path, words, problems);
  problems.throw_if_any();
  return options_to_yaml(visit);
}

}  // namespace

FUZZ_TARGET(options) {
  static fuzz::ScratchFile file("options.yaml"), again("again.yaml");
  std::string written;
  if (fuzz::taken([&] { written = read(file.holding(bytes), {}); }))
    TEMPER_CHECK(read(again.holding(written), {}) == written, "{}", written);
  fuzz::taken([&] { read("", {std::string(bytes)}); });
}

}  // namespace temper
