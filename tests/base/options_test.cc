#include "base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/error.h"

namespace temper {
namespace {

using ::testing::HasSubstr;

struct Inner {
  double lr = 1e-6;
  std::vector<int64_t> sizes = {1, 2};
  void visit(OptionVisitor& v) {
    v.option("lr", lr, {.help = "learning rate", .min = 0, .max = 1});
    v.option("sizes", sizes, {.help = "sizes", .unit = "tokens", .min = 1, .may_change = true});
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
    v.option("fast", fast, {.help = "be fast", .may_change = true});
    v.option("name", name, {.help = "name", .text = TextKind::kName});
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

TEST(Options, WordsOfAShellStandAsTheyAre) {
  const auto name_of = [](const std::string& word) {
    Outer options;
    Problems problems;
    read_options(visit(options), write_config(""), {word}, problems);
    problems.throw_if_any();
    return options.name;
  };
  EXPECT_EQ(name_of("name=Obey rule #1"), "Obey rule #1");
  EXPECT_EQ(name_of("name=first: this"), "first: this");
  EXPECT_EQ(name_of("name=- one\n- two"), "- one\n- two");
  EXPECT_EQ(name_of("name=& | > ! %"), "& | > ! %");
  EXPECT_EQ(name_of("name= b "), "b");
  EXPECT_EQ(name_of("name=' b #2'"), " b #2");
  EXPECT_EQ(name_of("name="), "");
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
  EXPECT_THAT(error_of("inner:\n  sizes: {a: 3}\n"), HasSubstr("inner.sizes: a map is not a list"));
  EXPECT_THAT(error_of("inner:\n  sizes: many\n"), HasSubstr("inner.sizes: 'many' is not an integer"));
  EXPECT_THAT(error_of("inner:\n  sizes: [0]\n"), HasSubstr("'0' is not allowed: must be at least 1"));
  EXPECT_THAT(error_of("steps: [1]\n"), HasSubstr("steps: a list is not an integer"));
  EXPECT_THAT(error_of("steps: 1\nsteps: 2\n"), HasSubstr("steps: given twice"));
  EXPECT_THAT(error_of("inner:\n  lr: nan\n"), HasSubstr("is not a number"));
  EXPECT_THAT(error_of("steps: {\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(error_of("- 1\n"), HasSubstr("must be a map"));
}

// What the file and the words make of the defaults; the error where there is one.
Outer taken(const std::string& yaml, const std::vector<std::string>& words = {}) {
  Outer options;
  Problems problems;
  read_options(visit(options), write_config(yaml), words, problems);
  problems.throw_if_any();
  return options;
}

TEST(Options, ValuesAsPeopleWriteThem) {
  for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "on", "ON"})
    EXPECT_TRUE(taken("", {std::string("fast=") + yes}).fast) << yes;
  for (const char* no : {"false", "False", "no", "NO", "off"})
    EXPECT_FALSE(taken("fast: true\n", {std::string("fast=") + no}).fast) << no;
  for (const char* thousand : {"1000", "1e3", "1E3", "1_000", "+1000", "1.0e3"})
    EXPECT_EQ(taken("", {std::string("steps=") + thousand}).steps, 1000) << thousand;
  EXPECT_EQ(taken("inner: {lr: 1_0e-1_1}\n").inner.lr, 10e-11);
  for (const char* wrong : {"tRUE", "y", "1", "", "truee"})
    EXPECT_THAT(error_of("", {std::string("fast=") + wrong}), HasSubstr("is not true or false")) << wrong;
  for (const char* wrong : {"1.5", "1.5e0", "1e400", "1e17", "_1", "1_", "1__0", "++1", "0x10", "1e", ""})
    EXPECT_THAT(error_of("", {std::string("steps=") + wrong}), HasSubstr("is not an integer")) << wrong;
}

TEST(Options, OneValueIsAListOfOne) {
  EXPECT_EQ(taken("inner: {sizes: 7}\n").inner.sizes, std::vector<int64_t>{7});
  EXPECT_EQ(taken("", {"inner.sizes=1e2"}).inner.sizes, std::vector<int64_t>{100});
  EXPECT_TRUE(taken("", {"inner.sizes="}).inner.sizes.empty());
  EXPECT_THAT(error_of("", {"inner.sizes=0"}), HasSubstr("'0' is not allowed: must be at least 1"));
}

TEST(Options, MergeKeysAreFollowed) {
  const Outer merged = taken("steps: 5\ninner: &base {lr: 0.5, sizes: [9]}\n");
  EXPECT_EQ(merged.inner.lr, 0.5);
  const Outer own = taken("<<: [{steps: 4, fast: true}, {steps: 3, kind: y}]\nsteps: 5\n");
  EXPECT_EQ(own.steps, 5) << "a map's own entry wins";
  EXPECT_TRUE(own.fast);
  EXPECT_EQ(own.kind, "y");
  EXPECT_EQ(taken("<<: [{steps: 4}, {steps: 3}]\n").steps, 4) << "the first of the merged wins";
  EXPECT_THAT(error_of("<<: 3\n"), HasSubstr(":1: << takes a map"));
  EXPECT_THAT(error_of("<<: {stepps: 3}\n"), HasSubstr(":1: stepps: unknown option; did you mean steps?"));
}

TEST(Options, ATabIsNamed) {
  EXPECT_THAT(error_of("inner:\n\tlr: 0.5\n"), HasSubstr(":2: not valid YAML: a tab cannot indent a line"));
}

TEST(Options, OtherProgramsNamesAreAnsweredWithOurs) {
  constexpr OtherName kOthers[] = {{"their."},
                                   {"rate", "inner.lr"},
                                   {"lrs", "steps"},
                                   {"rollout.n", "steps", "counted"},
                                   {"log_to", "", "always"}};
  const auto said = [&](const std::string& yaml, const std::vector<std::string>& words = {}) -> std::string {
    Outer options;
    Problems problems;
    read_options(visit(options), write_config(yaml), words, problems, kOthers);
    try {
      problems.throw_if_any();
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(said("", {"rate=1"}), HasSubstr("command line: rate: unknown option; here it is inner.lr"));
  EXPECT_THAT(said("inner: {rate: 1}\n"), HasSubstr(":1: inner.rate: unknown option; here it is inner.lr"));
  EXPECT_THAT(said("", {"actor.rollout.n=1"}), HasSubstr("here it is steps, counted"));
  EXPECT_THAT(said("", {"log_to=x"}), HasSubstr("log_to: unknown option; always"));
  EXPECT_THAT(said("", {"inner.lrs=x"}), HasSubstr("did you mean inner.lr?")) << "a slip is nearer";
  EXPECT_THAT(said("their:\n  deep: {rate: 1}\n  more: 2\n"),
              testing::AllOf(HasSubstr(":2: their.deep.rate: unknown option; here it is inner.lr"),
                             HasSubstr(":3: their.more: unknown option")));
}

TEST(Options, HelpOfThoseThatAreWanted) {
  Outer options;
  const auto in_inner = [](const std::string& key, std::string_view) { return key == "inner.lr"; };
  EXPECT_EQ(options_to_help(visit(options), in_inner),
            "\ninner: the inner ones\n  inner.lr=1e-06\n      learning rate [0 to 1]\n");
  for (const size_t width : {20, 40})
    for (std::istringstream lines(options_to_help(visit(options), {}, width)); lines;) {
      std::string line;
      std::getline(lines, line);
      EXPECT_LE(line.size(), width) << line;
    }
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

TEST(Options, ThoseThatMayChangeAreNamedWithTheirSections) {
  Outer options;
  EXPECT_EQ(options_that_may_change(visit(options)), (std::set<std::string>{"fast", "inner.sizes"}));
}

TEST(Options, HelpAndTableShowDefaultUnitAndRange) {
  Outer options;
  EXPECT_THAT(options_to_help(visit(options)), HasSubstr("inner.lr=1e-06"));
  EXPECT_THAT(options_to_markdown(visit(options)),
              HasSubstr("| `inner.sizes` | `[1, 2]` | tokens; at least 1 | sizes |"));
}

}  // namespace
}  // namespace temper
