#include "base/input/yaml_binder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/input/yaml.h"

namespace temper {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class YamlBinder : public testing::Test {
 protected:
  std::vector<std::string> problems_;
  const YamlProblem problem_ = [this](const YAML::Node& at, const std::string& field,
                                      const std::string& text) {
    problems_.push_back(fmt::format("{}: {}: {}", at.Mark().line + 1, field, text));
  };
};

TEST_F(YamlBinder, KeysAreKnownAndGivenOnce) {
  const YAML::Node map = parse_yaml("shape: 1\ntype: 2\nshap: 3\ntype: 4\nunlike: 5\n", "file");
  check_yaml_keys(map, {"shape", "type"}, "x.", problem_);
  EXPECT_THAT(problems_, ElementsAre("3: x.shap: unknown key; did you mean shape?", "4: x.type: given twice",
                                     "5: x.unlike: unknown key; known: shape, type"));
}

TEST_F(YamlBinder, MapsOfMapsBecomeDottedKeys) {
  const YAML::Node map = parse_yaml("a: {b: 1, c: {d: [x, 2]}}\ne.f: word\na: {b: 3}\n", "file");
  std::vector<std::string> found;
  flatten_yaml(
      map, "",
      [&](const std::string& key, const YAML::Node&, const YAML::Node& value) {
        found.push_back(key + "=" + yaml_text(value));
      },
      problem_);
  EXPECT_THAT(found, ElementsAre("a.b=1", "a.c.d=[x, 2]", "e.f=word", "a.b=3"));
  EXPECT_THAT(problems_, ElementsAre("3: a: given twice"));
}

TEST_F(YamlBinder, ValuesAreWhatTheyShouldBe) {
  const YAML::Node map =
      parse_yaml("n: 1e3\nx: 0.5\nyes: True\nlist: [1, 2]\none: 7\nword: w\nnone: ~\nempty: \"\"\n", "file");
  const auto of = [&]<class T>(const char* key, T fallback) {
    return yaml_value<T>(map[key], key, fallback, "something else", problem_);
  };
  EXPECT_EQ(of("n", int64_t{0}), 1000);
  EXPECT_EQ(of("x", 0.0), 0.5);
  EXPECT_TRUE(of("yes", false));
  EXPECT_EQ(of("word", std::string()), "w");
  EXPECT_EQ(of("nowhere", 4.0), 4.0);
  EXPECT_THAT(of("list", std::vector<int64_t>()), ElementsAre(1, 2));
  EXPECT_THAT(of("one", std::vector<double>()), ElementsAre(7));
  EXPECT_THAT(of("empty", std::vector<double>{1}), IsEmpty());
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_EQ(of("word", 9.0), 9.0);
  EXPECT_EQ(of("list", std::string("s")), "s");
  EXPECT_EQ(of("none", int64_t{3}), 3);
  EXPECT_THAT(of("word", std::vector<int64_t>{5}), ElementsAre(5));
  EXPECT_THAT(problems_, ElementsAre("6: word: 'w' is not allowed; expected something else",
                                     "4: list: '[1, 2]' is not allowed; expected something else",
                                     "7: none: '~' is not allowed; expected something else",
                                     "6: word: 'w' is not allowed; expected something else"));
}

}  // namespace
}  // namespace temper
