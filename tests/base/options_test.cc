#include "base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "base/error.h"

namespace temper {
namespace {

using ::testing::HasSubstr;

struct Inner {
  double lr = 1e-6;
  std::vector<int64_t> sizes = {1, 2};
  void visit(OptionVisitor& v) {
    v.option("lr", lr, {.help = "learning rate", .min = 0, .max = 1});
    v.option("sizes", sizes, {.help = "sizes", .unit = "tokens", .min = 1});
  }
};

struct Outer {
  int64_t steps = 10;
  bool fast = false;
  std::string name = "a run";
  std::string kind = "x";
  Inner inner;
  void visit(OptionVisitor& v) {
    v.option("steps", steps, {.help = "steps", .min = 1});
    v.option("fast", fast, {.help = "be fast"});
    v.option("name", name, {.help = "name"});
    v.option("kind", kind, {.help = "kind", .choices = {"x", "y"}});
    v.section("inner", inner, "the inner ones");
  }
};

VisitOptions visit(Outer& options) {
  return [&options](OptionVisitor& v) { options.visit(v); };
}

std::string write_config(const std::string& text) {
  const std::string path = ::testing::TempDir() + std::to_string(::getpid()) + "options_test.yaml";
  std::ofstream(path) << text;
  return path;
}

std::string error_of(const std::string& yaml, const std::vector<std::string>& words = {}) {
  Outer options;
  Problems problems;
  try {
    read_options(visit(options), write_config(yaml), words, problems);
    problems.throw_if_any();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(Options, FileThenOverrides) {
  Outer options;
  Problems problems;
  read_options(visit(options), write_config("steps: 3\ninner:\n  lr: 0.5\n  sizes: [4]\n"),
               {"inner.lr=0.25", "name=b", "fast=true"}, problems);
  problems.throw_if_any();
  EXPECT_EQ(options.steps, 3);
  EXPECT_EQ(options.inner.lr, 0.25);
  EXPECT_EQ(options.inner.sizes, std::vector<int64_t>{4});
  EXPECT_EQ(options.name, "b");
  EXPECT_TRUE(options.fast);
}

TEST(Options, UnknownKeyNamesPlaceAndNearest) {
  const std::string error = error_of("steps: 3\ninner:\n  lrr: 0.5\n");
  EXPECT_THAT(error, HasSubstr("options_test.yaml:3: inner.lrr: unknown option; did you mean inner.lr?"));
  EXPECT_THAT(error_of("", {"lr=1"}), HasSubstr("command line: lr: unknown option; did you mean inner.lr?"));
}

TEST(Options, AllProblemsAtOnce) {
  const std::string error =
      error_of("steps: zero\ninner:\n  lr: 7\nkind: z\n", {"fast=1", "inner=2", "word"});
  EXPECT_THAT(error, HasSubstr(":1: steps: 'zero' is not an integer"));
  EXPECT_THAT(error, HasSubstr(":3: inner.lr: '7' is not allowed: must be 0 to 1"));
  EXPECT_THAT(error, HasSubstr(":4: kind: 'z' is not allowed: must be one of x, y"));
  EXPECT_THAT(error, HasSubstr("command line: fast: '1' is not true or false"));
  EXPECT_THAT(error, HasSubstr("inner: is a section, not an option"));
  EXPECT_THAT(error, HasSubstr("word: not of the form key=value"));
}

TEST(Options, RejectsWrongShapes) {
  EXPECT_THAT(error_of("inner:\n  sizes: 3\n"), HasSubstr("inner.sizes: '3' is not a list"));
  EXPECT_THAT(error_of("inner:\n  sizes: [0]\n"), HasSubstr("'0' is not allowed: must be at least 1"));
  EXPECT_THAT(error_of("steps: [1]\n"), HasSubstr("steps: a list is not an integer"));
  EXPECT_THAT(error_of("steps: 1\nsteps: 2\n"), HasSubstr("steps: given twice"));
  EXPECT_THAT(error_of("inner:\n  lr: nan\n"), HasSubstr("is not a number"));
  EXPECT_THAT(error_of("steps: {\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_of("- 1\n"), HasSubstr("must be a map"));
}

TEST(Options, SavedYamlReadsBackTheSame) {
  Outer options;
  options.name = "true";
  options.inner.lr = 0.1 + 0.2;
  options.inner.sizes = {};
  const std::string yaml = options_to_yaml(visit(options));
  Outer again;
  Problems problems;
  read_options(visit(again), write_config(yaml), {}, problems);
  problems.throw_if_any();
  EXPECT_EQ(options_to_yaml(visit(again)), yaml);
  EXPECT_EQ(again.name, "true");
  EXPECT_EQ(again.inner.lr, options.inner.lr);
}

TEST(Options, StringsThatYamlWouldReadOtherwiseSurvive) {
  for (const std::string name : {"", "null", "a: b", "#x", "'", "\"", "- x", "[1", "line\nbreak", "3"}) {
    Outer options, again;
    options.name = name;
    Problems problems;
    read_options(visit(again), write_config(options_to_yaml(visit(options))), {}, problems);
    problems.throw_if_any();
    EXPECT_EQ(again.name, name);
  }
}

TEST(Options, HelpAndTableShowDefaultUnitAndRange) {
  Outer options;
  EXPECT_THAT(options_to_help(visit(options)), HasSubstr("inner.lr=1e-06"));
  EXPECT_THAT(options_to_markdown(visit(options)),
              HasSubstr("| `inner.sizes` | `[1, 2]` | tokens; at least 1 | sizes |"));
}

}  // namespace
}  // namespace temper
