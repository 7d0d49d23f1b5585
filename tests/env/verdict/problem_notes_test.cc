#include "env/verdict/problem_notes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "env/verdict/known_notes.h"
#include "env/verdict/problem_sizes.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

ProblemNotes notes() {
  return {.weak = {"zeros", "stale"},
          .weak_comparable = {"zeros"},
          .promises = {"input 0 is symmetric"},
          .unusable = "it draws numbers"};
}

TEST(ProblemNotes, JsonKeepsEveryFieldAndNoneThatIsEmpty) {
  EXPECT_EQ(nlohmann::json(notes()).get<ProblemNotes>(), notes());
  EXPECT_EQ(nlohmann::json(ProblemNotes()).dump(), "{}");
  EXPECT_EQ(nlohmann::json::object().get<ProblemNotes>(), ProblemNotes());
  EXPECT_THROW(nlohmann::json::parse(R"({"weak": 3})").get<ProblemNotes>(), std::exception);
}

TEST(ProblemNotes, AreBounded) {
  ProblemNotes many{.weak = std::vector<std::string>(100, "zeros"), .unusable = std::string(5000, 'x')};
  const ProblemNotes read = nlohmann::json(many).get<ProblemNotes>();
  EXPECT_EQ(read.weak.size(), kMostNotes);
  EXPECT_EQ(read.unusable.size(), kMostNoteBytes);
  EXPECT_EQ(weak_text(notes().weak), "zeros, stale");
  EXPECT_EQ(weak_text({}), "none");
}

class KnownNotesFile : public testing::Test {
 protected:
  ~KnownNotesFile() override { fs::remove_all(folder_); }
  static Task task(const std::string& source, const std::string& precision = "fp32") {
    Task task;
    task.reference = source;
    task.module.emplace().precision = precision;
    return task;
  }
  const fs::path folder_ = fs::temp_directory_path() / fmt::format("temper_known_notes_{}", ::getpid());
  const fs::path file_ = folder_ / "caches" / "problems";
};

TEST_F(KnownNotesFile, OutlivesTheRunBesideTheSizes) {
  {
    KnownNotes first(file_);
    EXPECT_EQ(first.find(task("a")), nullptr);
    EXPECT_FALSE(fs::exists(folder_)) << "what only looks writes nothing";
    first.add(task("a"), notes());
    first.add(task("a"), notes());
    first.add(Task(), notes());  // another judge's nonsense
  }
  const auto bytes = fs::file_size(file_);
  ProblemSizes(file_).add("digest", std::array<int64_t, 3>{1, 2, 3});
  KnownNotes second(file_);
  ASSERT_NE(second.find(task("a")), nullptr);
  EXPECT_EQ(*second.find(task("a")), notes());
  EXPECT_EQ(second.find(task("a", "bf16")), nullptr);
  EXPECT_EQ(second.find(Task()), nullptr);
  second.add(task("a"), notes());
  ASSERT_NE(ProblemSizes(file_).find("digest"), nullptr);
  second.add(task("a"), {});  // another machine finds otherwise
  EXPECT_EQ(*KnownNotes(file_).find(task("a")), ProblemNotes());
  std::ofstream(file_, std::ios::app) << "{\"notes_of\": \"x\", \"notes\": {\"weak\": 3}}\nno line\n";
  EXPECT_EQ(*KnownNotes(file_).find(task("a")), ProblemNotes());
  EXPECT_LT(bytes, 400u) << "the same is written once";
}

TEST_F(KnownNotesFile, WhatCannotBeWrittenIsKnownInMemory) {
  fs::create_directories(file_);  // a folder where the file should be
  KnownNotes known(file_);
  known.add(task("a"), notes());
  ASSERT_NE(known.find(task("a")), nullptr);
}

}  // namespace
}  // namespace temper::env
