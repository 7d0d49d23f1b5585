// Tasks that are timed at several shapes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "env/task/task.h"
#include "env/task/task_json.h"
#include "env/task/task_numbers.h"

namespace temper::env {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string yaml_of_timed(const std::string& timed, const std::string& more = "") {
  return "{name: scale, reference: x * a, inputs: {x: [n, m], a: {shape: [m], scale: 1/sqrt(m)}}, outputs: "
         "{y: [n, m]}, "
         "check: [{n: 3, m: 5}], timed: " +
         timed + more + "}";
}

Task task_of_timed(const std::string& timed, const std::string& more = "") {
  return parse_tasks(yaml_of_timed(timed, more), "t.yaml").at(0);
}

std::string problem_of_timed(const std::string& timed, const std::string& more = "") {
  try {
    task_of_timed(timed, more);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// What is known of it from before there were several: caches of verdicts have that digest.
TEST(TimedShapes, OneInAListIsTheTaskThatItAlwaysWas) {
  const Task one = task_of_timed("{n: 64, m: 32}"), listed = task_of_timed("[{m: 32, n: 64}]");
  EXPECT_EQ(one.digest(), "4d5e2ab327a1a6286a293367bfe781cc5b3a5c8dd1ecb6cba9ba4b0ecf183cea");
  EXPECT_EQ(listed.digest(), one.digest());
  EXPECT_EQ(listed.prompt(), one.prompt());
  EXPECT_EQ(one.timed_count(), 1u);
  EXPECT_EQ(tasks_to_json({one}).find("further"), std::string::npos);
  EXPECT_EQ(tasks_in_numbers({one}).find("further"), std::string::npos);
}

TEST(TimedShapes, EachHasItsOwnLeastWork) {
  const Task task = task_of_timed("[{n: 64, m: 32}, {n: 4, m: 1000}]", ", flops: 2*n*m");
  ASSERT_EQ(task.timed_count(), 2u);
  EXPECT_EQ(task.timed(1).sizes, (Shape{{"n", 4}, {"m", 1000}}));
  EXPECT_EQ(task.min_flops, 2.0 * 64 * 32);
  EXPECT_EQ(task.timed(0).min_flops, task.min_flops);
  EXPECT_EQ(task.timed(1).min_flops, 8000);
  EXPECT_EQ(task.min_bytes, 4 * (2.0 * 64 * 32 + 32));
  EXPECT_EQ(task.timed(1).min_bytes, 4 * 9000);
  EXPECT_EQ(task_of_timed("[{n: 64, m: 32}, {n: 4, m: 1000}]", ", bytes: 3*n").timed(1).min_bytes, 12);
  EXPECT_EQ(most_timed({task_of_timed("{n: 2, m: 2}"), task}), 2u);
  EXPECT_EQ(most_timed({}), 1u);
}

TEST(TimedShapes, HaveNumbersBelowZero) {
  const Task task = task_of_timed("[{n: 64, m: 32}, {n: 4, m: 1000}, {n: 5, m: 6}]");
  EXPECT_EQ(first_shape(task), -3);
  EXPECT_EQ(shape_of(task, timed_number(0)), task.timed_shape);
  EXPECT_EQ(shape_of(task, timed_number(2)), (Shape{{"n", 5}, {"m", 6}}));
  EXPECT_EQ(shape_of(task, 0), (Shape{{"n", 3}, {"m", 5}}));
  EXPECT_EQ(timed_index(timed_number(2)), 2u);
  EXPECT_THROW(shape_of(task, -4), std::out_of_range);
  EXPECT_THROW(shape_of(task, 1), std::out_of_range);
}

TEST(TimedShapes, ThePromptNamesThemIfThereAreSeveral) {
  EXPECT_THAT(task_of_timed("[{n: 64, m: 32}, {n: 4, m: 1000}]").prompt(),
              HasSubstr("y[n, m]\ntimed: m 32, n 64; m 1000, n 4\ny = x * a\n"));
  EXPECT_EQ(task_of_timed("{n: 64, m: 32}").prompt().find("64"), std::string::npos);
}

TEST(TimedShapes, ProblemsNameTaskFieldIndexAndValue) {
  EXPECT_THAT(problem_of_timed("[]"),
              HasSubstr("t.yaml:1: task scale, timed: 0 shapes are not allowed; one map of sizes, or "
                        "a list of 1 to 8 of them"));
  std::string nine = "[";
  for (int n = 1; n <= 9; ++n) nine += fmt::format("{}{{n: {}, m: 2}}", n == 1 ? "" : ", ", n);
  EXPECT_THAT(problem_of_timed(nine + "]"), HasSubstr("task scale, timed: 9 shapes are not allowed"));
  EXPECT_THAT(problem_of_timed("[{n: 2, m: 3}, {n: 4, m: 5}, {m: 3, n: 2}]"),
              HasSubstr("task scale, timed[2]: {m: 3, n: 2} is also timed[0]; each shape is allowed once"));
  EXPECT_THAT(problem_of_timed("[{n: 2, m: 3}, {n: 4}]"),
              HasSubstr("task scale, timed[1]: undefined dimension 'm'"));
  EXPECT_THAT(problem_of_timed("[{n: 2, m: 3}, {n: 0, m: 1}]"),
              HasSubstr("task scale, timed[1].n: '0' is not allowed; an integer above 0"));
  EXPECT_THAT(problem_of_timed("[{n: 2, m: 3}, {n: 1, m: 1, k: 1}]"),
              HasSubstr("task scale, timed[1]: unknown dimension 'k'; dimensions: n, m"));
  EXPECT_THAT(problem_of_timed("[{n: 2, m: 3}, 7]"),
              HasSubstr("task scale, timed[1]: expected the size of each dimension"));
  EXPECT_THAT(problem_of_timed("[{n: 2, m: 3}, {n: 70000, m: 1000}]"),
              HasSubstr("task scale, x: 70000000 elements"));
}

// What holds at one shape may not hold at another.
TEST(TimedShapes, TheLeastWorkOfEachIsLookedAt) {
  const std::string two = "[{n: 9, m: 3}, {n: 4, m: 3}]";
  EXPECT_THAT(problem_of_timed(two, ", flops: n-5"),
              HasSubstr("task scale, flops: 'n-5' is -1 at timed[1]; 0 or more is allowed"));
  const std::string twice = problem_of_timed(two, ", flops: k");
  EXPECT_NE(twice, "");
  EXPECT_EQ(twice.find("flops"), twice.rfind("flops")) << twice;  // and is told once
}

TEST(TimedShapes, TravelAsJson) {
  const std::string two = "[{n: 64, m: 32}, {n: 4, m: 1000}]";
  const Task task = task_of_timed(two, ", flops: 2*n*m");
  const Json json = Json::parse(tasks_to_json({task}));
  const Task back = tasks_from_json(json.dump()).at(0);
  EXPECT_EQ(back.digest(), task.digest());
  EXPECT_EQ(back.timed(1).sizes, task.timed(1).sizes);
  EXPECT_EQ(back.timed(1).min_flops, 8000);
  EXPECT_NE(task.digest(), task_of_timed("{n: 64, m: 32}", ", flops: 2*n*m").digest());
  const auto problem = [&](const char* at, const Json& value) -> std::string {
    Json other = json;
    other[0][Json::json_pointer(at)] = value;
    try {
      tasks_from_json(other.dump());
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(problem("/further_timed", Json::array()),
            "task scale, further_timed: [] is not allowed; a list of shapes, or none");
  EXPECT_EQ(problem("/further_timed/0/sizes", {{"n", 64}, {"m", 32}}),
            "task scale, timed[1]: m 32, n 64 is also timed[0]; each shape is allowed once");
  EXPECT_EQ(problem("/further_timed/0/sizes", {{"n", 64}}), "task scale, timed[1]: undefined dimension 'm'");
  EXPECT_EQ(problem("/further_timed/0/sizes/n", 0),
            "task scale, timed[1].n: 0 is not allowed; an integer above 0");
  Json many = Json::array();
  for (int n = 1; n <= 8; ++n)
    many.push_back({{"sizes", {{"n", n}, {"m", 7}}}, {"min_bytes", 1}, {"min_flops", 1}});
  EXPECT_EQ(problem("/further_timed", many), "task scale, timed: 9 shapes are not allowed; 1 to 8");
}

TEST(TimedShapes, AreNumbersForOtherPrograms) {
  const Json json = Json::parse(tasks_in_numbers({task_of_timed("[{n: 64, m: 32}, {n: 4, m: 1000}]")}));
  EXPECT_EQ(json[0]["timed"]["shape"], (Json{{"n", 64}, {"m", 32}}));
  ASSERT_EQ(json[0]["further_timed"].size(), 1u);
  EXPECT_EQ(json[0]["further_timed"][0]["inputs"][0]["sizes"], (Json{4, 1000}));
}

}  // namespace
}  // namespace temper::env
