#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "trainer/app/report/charts.h"
#include "trainer/app/report/origin.h"
#include "trainer/app/report/timeline.h"
#include "trainer/run/event_file.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using testing::Pair;

class ReportTime : public testing::Test {
 protected:
  ReportTime() {
    fs::create_directories(dir_ / "log");
    std::ofstream(dir_ / "config.yaml") << "run: {seed: 1, steps: 9}\n";
    std::ofstream(dir_ / "metrics.jsonl");
  }
  ~ReportTime() override { fs::remove_all(dir_); }

  // A start of the program at `began`.
  void start(double began) {
    events_ = dir_ / fmt::format("events.out.tfevents.{:.0f}.temper", began);
    append(events_, event_record(version_event(began)));
  }
  // Figures that it writes at `at`.
  void figures(double at, int64_t step, const Metrics& metrics) {
    nlohmann::json line(metrics);
    line["step"] = step;
    append(dir_ / "metrics.jsonl", line.dump() + "\n");
    append(events_, event_record(summary_event(at, step, metrics)));
  }
  static void append(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::app | std::ios::binary) << text;
  }

  const fs::path dir_ = fs::temp_directory_path() / fmt::format("temper_report_time_{}", ::getpid());
  fs::path events_;
};

TEST_F(ReportTime, AllOfTheWallClockIsAccountedFor) {
  constexpr double t = 1'800'000'000;
  start(t);  // 214 s of examples, then 100 s of cold start, told twice
  figures(t + 264, 10, {{"cold_start/loss", 1}, {"cold_start/seconds", 50}});
  figures(t + 314, 20, {{"cold_start/loss", 1}, {"cold_start/seconds", 100}});
  figures(t + 325, 0, {{"val/sampled/correct", 0.5}, {"timing_s/testing", 11}});
  figures(
      t + 330, 1,
      {{"timing_s/step", 5}, {"timing_s/gen", 2}, {"timing_s/reward", 1}, {"timing_s/update_actor", 1.5}});
  figures(
      t + 340, 2,
      {{"timing_s/step", 6}, {"timing_s/gen", 3}, {"timing_s/reward", 1}, {"timing_s/update_actor", 1.5}});
  const Timeline found = timeline_of(read_run(dir_));
  EXPECT_EQ(found.began_s, t);
  EXPECT_EQ(found.start, 214);
  EXPECT_EQ(found.cold_start, 100);
  EXPECT_EQ(found.evaluate, 11);
  EXPECT_EQ(found.generate, 5);
  EXPECT_EQ(found.judge, 2);
  EXPECT_EQ(found.learn, 3);
  EXPECT_EQ(found.rest_of_steps, 1);
  EXPECT_EQ(found.other, 4) << "between the last two lines";
  EXPECT_EQ(found.total(), 340);
}

TEST_F(ReportTime, WhatLiesBetweenTwoStartsIsNotTheRuns) {
  start(1'800'000'000);
  figures(1'800'000'010, 1, {{"timing_s/step", 8}});
  start(1'800'090'000);  // the next day
  figures(1'800'090'007, 2, {{"timing_s/step", 4}});
  const Timeline found = timeline_of(read_run(dir_));
  EXPECT_EQ(found.starts, 2);
  EXPECT_EQ(found.start, 5);
  EXPECT_EQ(found.total(), 17);
}

TEST_F(ReportTime, ABrokenOffOrForeignEventFileIsReadAsFarAsItIsWhole) {
  start(1'800'000'000);
  figures(1'800'000'010, 1, {{"timing_s/step", 8}});
  const std::string half = event_record(summary_event(1'800'000'020, 2, {{"timing_s/step", 9}}));
  append(events_, half.substr(0, half.size() - 1));
  EXPECT_EQ(timeline_of(read_run(dir_)).total(), 10);
  append(dir_ / "events.out.tfevents.1.other", std::string(40, '\xff'));
  append(dir_ / "events.out.tfevents.2.other", event_record("\x09short"));
  append(dir_ / "events.out.tfevents.3.other",
         event_record(std::string("\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)));
  EXPECT_EQ(timeline_of(read_run(dir_)).total(), 10);
}

TEST_F(ReportTime, WithoutEventFilesItIsWhatTheFiguresName) {
  append(dir_ / "metrics.jsonl", "{\"timing_s/step\":3,\"timing_s/gen\":1,\"step\":1}\n");
  const Timeline found = timeline_of(read_run(dir_));
  EXPECT_EQ(found.began_s, 0);
  EXPECT_EQ(found.generate, 1);
  EXPECT_EQ(found.total(), 3);
}

TEST_F(ReportTime, TheRunSaysWhatMadeIt) {
  append(dir_ / "log" / "rank_0.txt",
         "2026-01-02 03:04:05.678 run x in runs/x\n2026-01-02 03:04:05.679 policy: new qwen3, 0.39 M "
         "parameters\n"
         "2026-01-02 03:04:05.679 device: CPU, f32\npolicy: runs/x/checkpoints/final\n");
  append(
      dir_ / "metrics.jsonl",
      R"({"start":{"version":"0.1.0","commit":"abc","host":"node7","cores":16,"gpus":["H100","H100"],"ranks":2,)"
      R"("libraries":[["torch","2.11"],["CUDA","13.0"]],"command":"temper train x.yaml","nested":{"a":[[1]]}},"step":0})"
      "\n");
  std::vector<std::pair<std::string, std::string>> facts;
  for (const Fact& fact : facts_of(read_run(dir_), {.began_s = 1'800'000'000, .starts = 1}))
    facts.emplace_back(fact.name, fact.value);
  EXPECT_THAT(facts,
              testing::ElementsAre(
                  Pair("began", "2027-01-15 08:00 UTC"), Pair("policy", "new qwen3, 0.39 M parameters"),
                  Pair("device", "CPU, f32"), Pair("machine", "node7, 16 cores, H100, H100, 2 ranks"),
                  Pair("program", "temper 0.1.0, commit abc"), Pair("libraries", "torch 2.11, CUDA 13.0"),
                  Pair("command", "temper train x.yaml")));
}

TEST_F(ReportTime, ARunThatSaysNothingHasNoFacts) {
  append(dir_ / "metrics.jsonl", "{\"start\":7,\"step\":0}\n");
  append(dir_ / "run.json", "[[[[");
  EXPECT_TRUE(facts_of(read_run(dir_), {}).empty());
}

// Trees are copied by functions that call themselves: 100,000 levels would end the process without a word.
TEST_F(ReportTime, WhatLiesDeepIsNoFact) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  append(dir_ / "metrics.jsonl", "{\"start\":{\"command\":" + deep + "},\"step\":0}\n");
  EXPECT_TRUE(facts_of(read_run(dir_), {}).empty());
  append(dir_ / "run.json", "{\"command\":" + deep + "}");
  EXPECT_TRUE(facts_of(read_run(dir_), {}).empty());
}

}  // namespace
}  // namespace temper::trainer
