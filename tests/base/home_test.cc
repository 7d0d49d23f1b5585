#include "base/input/home.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/options.h"

namespace temper {
namespace {

using testing::HasSubstr;

class Home : public testing::Test {
 protected:
  Home() { set("/homes/ann"); }
  ~Home() override { set(before_.c_str()); }
  static void set(const char* home) { ::setenv("HOME", home, 1); }

 private:
  const std::string before_ = std::getenv("HOME") ? std::getenv("HOME") : "";
};

std::string home_error(const std::string& path) {
  try {
    expand_home(path);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "none";
}

TEST_F(Home, StandsForATildeInFront) {
  EXPECT_EQ(expand_home("~"), "/homes/ann");
  EXPECT_EQ(expand_home("~/"), "/homes/ann/");
  EXPECT_EQ(expand_home("~/a b/~"), "/homes/ann/a b/~");
}

TEST_F(Home, OtherPathsAreLeftAlone) {
  for (const char* path : {"", "-", "a/~/b", "./~", "./~/x", "/~", "a~", " ~", "auto"})
    EXPECT_EQ(expand_home(path), path) << path;
}

TEST_F(Home, OfAUserIsThatOfTheSystem) {
  const passwd* own = ::getpwuid(::getuid());
  ASSERT_TRUE(own);
  EXPECT_EQ(expand_home(std::string("~") + own->pw_name + "/x"), std::string(own->pw_dir) + "/x");
  const std::string folder = own->pw_dir;
  set("");
  EXPECT_EQ(expand_home("~/x"), folder + "/x");
}

TEST_F(Home, OfNobodyIsRefused) {
  EXPECT_EQ(home_error("~no such user/x"),
            "'~no such user/x': there is no user no such user on this machine; ./~no such user names a "
            "folder called so");
}

// An option that is a path, one that is not, and a list.
struct PathOptions {
  std::string path = "", name = "";
  std::vector<std::string> paths = {};
  void visit(OptionVisitor& v) {
    v.option("path", path, {.help = "a path", .text = TextKind::kPath});
    v.option("name", name, {.help = "a name", .text = TextKind::kName});
    v.option("paths", paths, {.help = "paths", .text = TextKind::kPath});
  }
};

std::string problems_of(PathOptions& options, const std::vector<std::string>& words) {
  Problems problems;
  read_options([&](OptionVisitor& v) { options.visit(v); }, "", words, problems);
  try {
    problems.throw_if_any();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST_F(Home, IsPutIntoOptionsThatArePaths) {
  PathOptions options;
  EXPECT_EQ(problems_of(options, {"path=~/x", "name=~/x", "paths=[~/a, ./~, ~]"}),
            "command line: paths: nothing is not a path; \"~\" in quotes is the home folder, as YAML reads ~ "
            "alone as nothing");
  EXPECT_EQ(problems_of(options, {"path=~/x", "name=~/x", "paths=[~/a, ./~, \"~\"]"}), "");
  EXPECT_EQ(options.path, "/homes/ann/x");
  EXPECT_EQ(options.name, "~/x");
  EXPECT_EQ(options.paths, (std::vector<std::string>{"/homes/ann/a", "./~", "/homes/ann"}));
  EXPECT_EQ(problems_of(options, {"path=~"}), "");
  EXPECT_EQ(options.path, "/homes/ann");
  EXPECT_THAT(problems_of(options, {"path=~nobody there/x"}),
              HasSubstr("command line: path: '~nobody there/x': there is no user"));
}

struct Unsaid {
  std::string path = "";
  void visit(OptionVisitor& v) { v.option("path", path, {.help = "a path"}); }
};

TEST(TextKindDeathTest, MustBeSaid) {
  Unsaid options;
  Problems problems;
  EXPECT_DEATH(read_options([&](OptionVisitor& v) { options.visit(v); }, "", {}, problems),
               "path is a name or a path");
}

}  // namespace
}  // namespace temper
