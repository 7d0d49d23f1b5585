#include "trainer/app/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "trainer/app/sweep/cell_process.h"
#include "trainer/app/sweep/sweep_table.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Sweeps : public testing::Test {
 protected:
  Sweeps() {
    fs::create_directories(root_);
    std::ofstream(root_ / "base.yaml") << "run: {steps: 7}\n";
  }
  ~Sweeps() override { fs::remove_all(root_); }

  fs::path file(const std::string& text) const {
    std::ofstream(root_ / "sweep.yaml") << text;
    return root_ / "sweep.yaml";
  }
  Sweep read(const std::string& text, const std::vector<std::string>& words = {}) const {
    return read_sweep(file(text), words);
  }
  std::string error_of(const std::string& text, const std::vector<std::string>& words = {}) const {
    try {
      read(text, words);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "no error";
  }
  static std::vector<std::string> names(const std::vector<SweepCell>& cells) {
    std::vector<std::string> all;
    for (const SweepCell& cell : cells) all.push_back(cell.name);
    return all;
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_sweep_{}", ::getpid());
};

TEST_F(Sweeps, AGridIsEveryCombinationOverTheSeeds) {
  const Sweep sweep = read(
      "base: base.yaml\nset: {rollout: {turns: 3}}\nseeds: [4, 5]\n"
      "grid: {advantage.name: [grpo, trloo], returns.discount: [0.4, 1]}\n");
  ASSERT_THAT(names(sweep.cells),
              ElementsAre("grpo-discount-0.4-seed4", "grpo-discount-0.4-seed5", "grpo-discount-1-seed4",
                          "grpo-discount-1-seed5", "trloo-discount-0.4-seed4", "trloo-discount-0.4-seed5",
                          "trloo-discount-1-seed4", "trloo-discount-1-seed5"));
  EXPECT_EQ(sweep.dir, "runs/sweep");
  const RunConfig& cell = sweep.cells[5].config;
  EXPECT_EQ(cell.advantage.name, "trloo");
  EXPECT_EQ(cell.returns.discount, 0.4);
  EXPECT_EQ(cell.run.seed, 5);
  EXPECT_EQ(cell.run.steps, 7);
  EXPECT_EQ(cell.rollout.turns, 3);
  EXPECT_EQ(cell.run.dir, "runs/sweep/trloo-discount-0.4-seed5");
}

TEST_F(Sweeps, PathsMayBeginWithAHome) {
  const std::string before = std::getenv("HOME") ? std::getenv("HOME") : "";
  ::setenv("HOME", root_.c_str(), 1);
  const Sweep sweep =
      read("base: ~/base.yaml\ndir: ~/cells\nset: {env.cache: ~/cache}\ncells: [{name: one}]\n");
  EXPECT_EQ(sweep.dir, root_ / "cells");
  EXPECT_EQ(sweep.cells[0].config.run.steps, 7);
  EXPECT_EQ(sweep.cells[0].config.env.cache, (root_ / "cache").string());
  EXPECT_THAT(error_of("base: ~no one/x\ncells: [{name: one}]\n"),
              HasSubstr("sweep.yaml:1: base: '~no one/x': there is no user"));
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(Sweeps, AListHasNamesOrMakesThem) {
  const Sweep sweep = read(
      "base: base.yaml\ndir: here\ncells:\n  - {name: both streams, advantage.name: hrd, "
      "advantage.plan_weight: 0.1}\n"
      "  - {tasks: {learn: [train, traces]}}\n  - {}\n",
      {"run.steps=9"});
  EXPECT_THAT(names(sweep.cells),
              ElementsAre("both-streams-seed1", "learn-train-traces-seed1", "base-seed1"));
  EXPECT_EQ(sweep.cells[1].config.tasks.learn, (std::vector<std::string>{"train", "traces"}));
  EXPECT_EQ(sweep.cells[0].config.run.steps, 9);
  EXPECT_EQ(sweep.cells[0].config.run.dir, "here/both-streams-seed1");
}

TEST_F(Sweeps, CellsShareTheColdStartThatTheyAgreeOn) {
  const Sweep sweep = read(
      "base: base.yaml\nshare_start: true\nseeds: [1, 2]\n"
      "grid: {advantage.name: [grpo, trloo], traces.slow_rate: [0, 0.5]}\n");
  ASSERT_EQ(sweep.cells.size(), 8u);
  ASSERT_THAT(names(sweep.starts), ElementsAre("starts/slow_rate-0-seed1", "starts/slow_rate-0-seed2",
                                               "starts/slow_rate-0.5-seed1", "starts/slow_rate-0.5-seed2"));
  EXPECT_EQ(sweep.starts[2].config.run.steps, 0);
  EXPECT_EQ(sweep.starts[2].config.traces.slow_rate, 0.5);
  EXPECT_EQ(sweep.starts[2].config.advantage.name, RunConfig().advantage.name);
  EXPECT_EQ(sweep.cells[7].name, "trloo-slow_rate-0.5-seed2");
  EXPECT_EQ(sweep.cells[7].start, "starts/slow_rate-0.5-seed2");
  EXPECT_EQ(sweep.cells[7].config.model.path, "runs/sweep/starts/slow_rate-0.5-seed2/checkpoints/final");
}

TEST_F(Sweeps, AStartOnAFileOfConversationsIsNotLearnedAgainByItsCells) {
  const Sweep sweep = read(
      "base: base.yaml\nshare_start: true\nset: {cold_start.data: data.jsonl}\n"
      "grid: {advantage.name: [grpo, trloo]}\n");
  ASSERT_EQ(sweep.starts.size(), 1u);
  EXPECT_EQ(sweep.starts[0].config.cold_start.data, "data.jsonl");
  EXPECT_TRUE(sweep.starts[0].config.has_cold_start());
  for (const SweepCell& cell : sweep.cells) EXPECT_FALSE(cell.config.has_cold_start()) << cell.name;
}

TEST_F(Sweeps, AStartKnowsOnlyWhatShapesIt) {
  const Sweep sweep = read(
      "base: base.yaml\nshare_start: true\nset: {eval.samples: 7, traces.slip_rate: 0.25}\n"
      "cells:\n  - {name: full, env.judge: both}\n  - {name: naive, env.judge: naive, tasks.order: "
      "difficulty}\n");
  ASSERT_THAT(names(sweep.starts), ElementsAre("starts/base-seed1"));
  const RunConfig &start = sweep.starts[0].config, plain;
  EXPECT_EQ(start.traces.slip_rate, 0.25);
  EXPECT_EQ(start.eval.samples, plain.eval.samples);
  EXPECT_EQ(start.env.judge, "full");
  EXPECT_EQ(start.tasks.order, plain.tasks.order);
  EXPECT_EQ(sweep.cells[1].config.eval.samples, 7);
  EXPECT_EQ(sweep.cells[1].config.env.judge, "naive");
}

TEST_F(Sweeps, MistakesAreNamedWithTheirPlace) {
  const std::string grid = "grid: {advantage.name: [grpo]}\n";
  EXPECT_THAT(error_of("base: base.yaml\n" + grid + "seed: [1]\n"),
              AllOf(HasSubstr("sweep.yaml:3: seed: unknown key"), HasSubstr("did you mean seeds?")));
  EXPECT_THAT(error_of(grid), HasSubstr("sweep.yaml:1: base: is missing"));
  EXPECT_THAT(error_of("base: nowhere.yaml\n" + grid), HasSubstr("nowhere.yaml: cannot be read"));
  EXPECT_THAT(error_of("base: base.yaml\n"), HasSubstr("give either grid or cells"));
  EXPECT_THAT(error_of("base: base.yaml\ngrid: {}\n"), HasSubstr("sweep.yaml:2: grid: is empty"));
  EXPECT_THAT(error_of("base: base.yaml\ngrid: {run.steps: []}\n"),
              HasSubstr("grid: run.steps must be a list"));
  EXPECT_THAT(error_of("base: base.yaml\ncells: []\n"), HasSubstr("cells: is empty"));
  EXPECT_THAT(error_of("base: base.yaml\nseeds: []\n" + grid),
              HasSubstr("sweep.yaml:2: seeds: must be a list"));
  EXPECT_THAT(error_of("base: base.yaml\nseeds: [1, 1]\n" + grid), HasSubstr("seeds: 1 is there twice"));
  EXPECT_THAT(error_of("base: base.yaml\nseeds: [-1]\n" + grid), HasSubstr("seeds: -1 is not an integer"));
  EXPECT_THAT(error_of("base: base.yaml\ngrid: {run.seed: [1, 2]}\n"),
              HasSubstr("run.seed: is what seeds is for"));
  EXPECT_THAT(error_of("base: base.yaml\n" + grid, {"run.dir=x"}), HasSubstr("command line: run.dir=x"));
  EXPECT_THAT(error_of("base: [\n"), HasSubstr("not valid YAML"));
}

TEST_F(Sweeps, OptionsOfACellAreCheckedBeforeAnythingRuns) {
  EXPECT_THAT(error_of("base: base.yaml\ngrid: {advantage.nme: [grpo]}\n"),
              AllOf(HasSubstr("cell nme-grpo-seed1"), HasSubstr("did you mean advantage.name?")));
  EXPECT_THAT(error_of("base: base.yaml\ngrid: {advantage.name: [grpo, ppo]}\n"),
              AllOf(HasSubstr("cell ppo-seed1"), HasSubstr("'ppo' is not allowed")));
  EXPECT_THAT(
      error_of(
          "base: base.yaml\nset: {rollout.samples_per_task: 1}\ngrid: {advantage.name: [trloo, grpo]}\n"),
      AllOf(HasSubstr("cell grpo-seed1"), HasSubstr("nothing to compare with")));
}

TEST_F(Sweeps, ACellTwiceIsAMistake) {
  EXPECT_THAT(error_of("base: base.yaml\ngrid: {advantage.name: [grpo, grpo]}\n"),
              HasSubstr("cell grpo is there twice"));
  EXPECT_THAT(error_of("base: base.yaml\ncells: [{name: a, run.steps: 7}, {name: b}]\n"),
              HasSubstr("cells a-seed1 and b-seed1 are the same"));
}

TEST_F(Sweeps, ReadyFilesAreReadable) {
  int64_t files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(TEMPER_SOURCE_DIR) / "configs" / "sweeps")) {
    const Sweep sweep = read_sweep(entry.path(), {});
    EXPECT_GE(sweep.cells.size(), 6u) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 7);
}

TEST(SweepTable, MeanAndSpreadOverFinishedSeeds) {
  RunRecord a, b;
  a.series["val/sampled/correct"] = {{0, 0.2}, {9, 0.6}};
  b.series["val/sampled/correct"] = {{0, 0.4}, {9, 0.8}};
  const std::vector<CellResult> cells = {{"x-seed1", "x", "finished", 1, 10, {}},
                                         {"x-seed2", "x", "finished", 2, 10, {}},
                                         {"y-seed1", "y", "failed", 1, 10, {"it said, \"no\"", "twice"}}};
  const std::string table = sweep_table(cells, {&a, &b, nullptr});
  EXPECT_THAT(table, HasSubstr("| x    | 2      | 30.0 ± 14.1 → 70.0 ± 14.1 % |"));
  EXPECT_THAT(table, HasSubstr("| y    | 0 of 1 |"));
  EXPECT_EQ(failures_text(cells), "y-seed1 failed:\n    it said, \"no\"\n    twice\n");
  const std::string csv = sweep_csv(cells, {&a, &b, nullptr});
  EXPECT_THAT(csv, HasSubstr("steps,before val/sampled/correct,after val/sampled/correct\n"));
  EXPECT_THAT(csv, HasSubstr("x-seed2,x,2,finished,10.0,0,0.4,0.8\n"));
  EXPECT_THAT(csv, HasSubstr("y-seed1,y,1,failed,10.0,0,,\n"));
}

TEST(SweepTable, LazyAnswersHaveAColumnWhereThereAreAny) {
  RunRecord a, b;
  a.series["val/sampled/lazy"] = {{0, 0.8}, {9, 0.25}};
  a.series["val/sampled/fast_1.2"] = {{0, 0.1}, {9, 0.6}};
  b.series["val/sampled/lazy"] = {{0, 0.8}, {9, 0}};
  const std::vector<CellResult> cells = {{"x-seed1", "x", "finished", 1, 10, {}}};
  EXPECT_THAT(sweep_table(cells, {&a}),
              AllOf(HasSubstr("| fast_1.2 "), HasSubstr("| lazy "), HasSubstr("| 80.0 → 25.0 %")));
  EXPECT_THAT(sweep_table(cells, {&b}), testing::Not(HasSubstr("lazy")));
}

TEST(SplitMachine, EachPartHasCoresOfItsOwn) {
  const auto parts = split_machine(3, {0, 2, 4, 6, 7}, {"3", "5"});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[0].cores, ElementsAre(0));
  EXPECT_THAT(parts[1].cores, ElementsAre(2, 4));
  EXPECT_THAT(parts[2].cores, ElementsAre(6, 7));
  EXPECT_EQ(parts[1].gpu, "5");
  EXPECT_EQ(parts[2].gpu, "");
}

}  // namespace
}  // namespace temper::trainer
