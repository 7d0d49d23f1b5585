#include "trainer/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunDirectory : public testing::Test {
 protected:
  RunDirectory() {
    fs::create_directories(root_);
    config_.run.dir = (root_ / "run").string();
  }
  ~RunDirectory() override { fs::remove_all(root_); }

  // The lines behind the one that says what made the run.
  std::string figures() const {
    const std::string text = read_file(fs::path(config_.run.dir) / "metrics.jsonl");
    EXPECT_TRUE(text.starts_with("{\"start\":{"));
    EXPECT_EQ(text.find("\"start\"", 5), std::string::npos);
    return text.substr(text.find('\n') + 1);
  }

  template <class Error>
  std::string error_of_check() const {
    try {
      check_run_directory(config_);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_run_{}", ::getpid());
  RunConfig config_ = read_config("", {});
};

TEST_F(RunDirectory, HoldsTheConfigAndWhatIsRecorded) {
  {
    temper::trainer::Run run(config_);
    run.record(1, {{"a", 2}}, {});
  }
  const fs::path dir = config_.run.dir;
  EXPECT_EQ(read_file(dir / "config.yaml"), to_yaml(config_));
  EXPECT_EQ(figures(), "{\"a\":2.0,\"step\":1}\n");
  EXPECT_TRUE(fs::exists(dir / "log" / "rank_0.txt"));
}

// A run's own words last as long as the run, wherever it is moved.
TEST_F(RunDirectory, KeepsTheWordsOfPromptsBesideItsConfig) {
  const fs::path first = root_ / "first.txt";
  write_file(first, "{problem}\nin {language}\n");
  const std::vector<std::string> words = {"rollout.prompt.first=" + first.string(),
                                          "rollout.prompt.system=Write {language}.",
                                          "run.dir=" + config_.run.dir};
  config_ = read_config("", words);
  temper::trainer::Run(config_).record(1, {{"a", 1}}, {});
  const fs::path moved = root_ / "moved";
  fs::rename(config_.run.dir, moved);
  const RunConfig kept = read_config((moved / "config.yaml").string(), {});
  EXPECT_EQ(kept.rollout.context.prompt.first, (moved / "prompt/first.txt").string());
  EXPECT_EQ(words_of(kept), words_of(config_));
  EXPECT_EQ(words_of(kept).size(), 2u);
  fs::rename(moved, config_.run.dir);
  EXPECT_EQ(error_of_check<std::exception>(), "no error");
  write_file(first, "{problem}\nin plain {language}\n");
  config_ = read_config("", words);
  EXPECT_THAT(error_of_check<ConfigError>(), HasSubstr("rollout.prompt.first: " + first.string() +
                                                       " is not what the run began with: line 2 is 'in plain "
                                                       "{language}', was 'in {language}'"));
  write_file(first, "{problem}\nin {language}\n");
  config_ = read_config("", {words[0], words[2]});
  EXPECT_THAT(error_of_check<ConfigError>(), HasSubstr("rollout.prompt.system is not given now"));
}

TEST_F(RunDirectory, LeavesNothingWhereNoStepWasRecorded) {
  temper::trainer::Run(config_).record(0, {{"a", 1}});
  EXPECT_FALSE(fs::exists(config_.run.dir));
}

TEST_F(RunDirectory, RefusesAUsedOneUnlessToldToOverwrite) {
  temper::trainer::Run(config_).record(1, {{"a", 1}}, {});
  config_.checkpoint.resume = "never";
  EXPECT_THAT(error_of_check<ConfigError>(), HasSubstr("holds a run already"));
  EXPECT_THROW(temper::trainer::Run{config_}, ConfigError);
  config_.run.overwrite = true;
  temper::trainer::Run(config_).record(1, {{"a", 3}}, {});
  EXPECT_EQ(figures(), "{\"a\":3.0,\"step\":1}\n");
}

TEST_F(RunDirectory, BeginsAgainWhereTheRunHadNoCheckpointUnlessItsConfigWasAnother) {
  temper::trainer::Run(config_).record(1, {{"a", 1}}, {});
  config_.optimizer.lr = 0.5;
  EXPECT_THAT(error_of_check<ConfigError>(), HasSubstr("of another config: optimizer.lr is 0.5, was 1e-06"));
  config_.optimizer.lr = 1e-6;
  temper::trainer::Run(config_).record(1, {{"a", 3}}, {});
  EXPECT_EQ(figures(), "{\"a\":3.0,\"step\":1}\n");
}

TEST_F(RunDirectory, RefusesOneThatIsInUse) {
  const temper::trainer::Run run(config_);
  EXPECT_THAT(error_of_check<ConfigError>(),
              HasSubstr(fmt::format("in use by another process: pid {}", ::getpid())));
}

TEST_F(RunDirectory, SaysThatAFinishedOneIsCompleteWhichTheConfigDoesNotProlong) {
  config_.run.steps = 1;
  temper::trainer::Run(config_).record(1, {{"a", 1}}, {});
  mark_finished(config_.run.dir, 1, 5);
  EXPECT_THAT(error_of_check<RunIsComplete>(),
              HasSubstr("is complete: it ended after step 1 (5 s); raise run.steps"));
  config_.run.steps = 2;
  EXPECT_EQ(error_of_check<std::exception>(), "no error");
  config_.run.max_seconds = 5;
  EXPECT_THAT(error_of_check<RunIsComplete>(), HasSubstr("raise run.max_seconds"));
  config_.optimizer.lr = 0.5;
  EXPECT_THAT(error_of_check<ConfigError>(), HasSubstr("of another config: optimizer.lr is 0.5"));
}

TEST_F(RunDirectory, NeverDeletesWhatIsNotARun) {
  fs::create_directories(config_.run.dir);
  std::ofstream(fs::path(config_.run.dir) / "thesis.txt") << "mine";
  config_.run.overwrite = true;
  EXPECT_THAT(error_of_check<ConfigError>(), HasSubstr("is not a run of this program"));
  EXPECT_EQ(read_file(fs::path(config_.run.dir) / "thesis.txt"), "mine");
}

TEST_F(RunDirectory, SaysWhereItCannotWrite) {
  config_.run.dir = "/proc/temper";
  EXPECT_THAT(error_of_check<WorldError>(), HasSubstr("run.dir: /proc/temper"));
}

TEST_F(RunDirectory, CheckLeavesNothingBehind) {
  EXPECT_EQ(error_of_check<std::exception>(), "no error");
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(RunDirectory, StopsAfterItsSteps) {
  config_.run.steps = 2;
  temper::trainer::Run run(config_);
  EXPECT_TRUE(run.goes_on(1));
  EXPECT_TRUE(run.goes_on(2));
  EXPECT_FALSE(run.goes_on(3));
}

TEST_F(RunDirectory, StopsAfterItsTime) {
  config_.run.max_seconds = 1e-9;
  temper::trainer::Run run(config_);
  run.goes_on(1);
  EXPECT_FALSE(run.goes_on(2));
}

}  // namespace
}  // namespace temper::trainer
