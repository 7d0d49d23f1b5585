#include "rollout/trajectory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "tests/policy/tokenizer_fixture.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

class TrajectoryTest : public testing::Test {
 protected:
  TrajectoryTest() : path_(fs::temp_directory_path() / ("temper_trajectory_" + std::to_string(::getpid()))) {}
  ~TrajectoryTest() override { fs::remove(path_); }
  std::string read_error(const std::string& text) {
    write_file_atomic(path_, text);
    try {
      read_trajectories(path_);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  const fs::path path_;
};

Trajectory random_trajectory(uint64_t seed) {
  Rng rng(seed);
  Trajectory trajectory;
  trajectory.task = "task_" + std::to_string(seed);
  trajectory.step = 7;
  trajectory.sample = int64_t(seed);
  for (Role role : {Role::kPrompt, Role::kPlan, Role::kCode, Role::kPlan, Role::kFeedback, Role::kCode}) {
    const auto begin = int32_t(trajectory.ids.size());
    for (uint64_t n = rng.below(9) + 1; n > 0; --n) {
      trajectory.ids.push_back(int32_t(rng.below(600)));
      trajectory.roles.push_back(role);
      trajectory.log_probs.push_back(is_response(role) ? float(-9 * rng.uniform()) : 0);
    }
    if (role != Role::kCode) continue;
    Turn turn{begin, int32_t(trajectory.ids.size()), rng.below(2) == 0, {}};
    turn.verdict.kind = VerdictKind::kPass;
    turn.verdict.message = "PASS speedup 1.25 \xFF";  // not UTF-8: must not end a run
    turn.verdict.candidate_us = 10 * rng.uniform();
    turn.verdict.speedup = rng.uniform();
    trajectory.turns.push_back(turn);
  }
  return trajectory;
}

void expect_equal(const Trajectory& a, const Trajectory& b) {
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.sample, b.sample);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.roles, b.roles);
  EXPECT_EQ(a.log_probs, b.log_probs);  // to the bit
  ASSERT_EQ(a.turns.size(), b.turns.size());
  for (size_t n = 0; n < a.turns.size(); ++n) {
    EXPECT_EQ(a.turns[n].begin, b.turns[n].begin);
    EXPECT_EQ(a.turns[n].end, b.turns[n].end);
    EXPECT_EQ(a.turns[n].stopped, b.turns[n].stopped);
    EXPECT_EQ(a.turns[n].verdict.kind, b.turns[n].verdict.kind);
    EXPECT_EQ(a.turns[n].verdict.candidate_us, b.turns[n].verdict.candidate_us);
    EXPECT_EQ(a.turns[n].verdict.speedup, b.turns[n].verdict.speedup);
  }
}

TEST_F(TrajectoryTest, ComesBackFromTheFile) {
  const Batch batch{7, {{"a", {random_trajectory(1), random_trajectory(2)}}, {"b", {random_trajectory(3)}}}};
  append_trajectories(path_, batch);
  append_trajectories(path_, batch);
  const auto found = read_trajectories(path_);
  ASSERT_EQ(found.size(), 6u);
  for (size_t n = 0; n < 6; ++n) expect_equal(found[n], random_trajectory(1 + n % 3));
}

TEST_F(TrajectoryTest, AFileThatIsNoneIsNamedWithItsLine) {
  append_trajectories(path_, {7, {{"a", {random_trajectory(1)}}}});
  const std::string line = read_file(path_);
  const auto where = path_.string() + ":2: ";
  EXPECT_NE(read_error(line + line.substr(0, line.size() / 2)).find(where), std::string::npos);
  EXPECT_NE(read_error(line + "{}\n").find(where), std::string::npos);
  auto json = nlohmann::json::parse(line);
  for (const auto& [path, value] : std::map<std::string, nlohmann::json>{{"/roles/0/1", 1 << 30},
                                                                         {"/roles/0/1", 0},
                                                                         {"/roles/0/0", "poet"},
                                                                         {"/turns/0/end", 100000},
                                                                         {"/turns/1/begin", 0},
                                                                         {"/log_probs", {0.5}},
                                                                         {"/ids", "none"}}) {
    auto changed = json;
    changed[nlohmann::json::json_pointer(path)] = value;
    EXPECT_NE(read_error(line + changed.dump() + "\n").find(where), std::string::npos) << path;
  }
}

TEST_F(TrajectoryTest, AFullDiskLeavesTheFileAsItWas) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_THROW(append_trajectories("/dev/full", {7, {{"a", {random_trajectory(1)}}}}), WorldError);
  EXPECT_THROW(append_trajectories(path_ / "below" / "nothing", {}), WorldError);
}

TEST_F(TrajectoryTest, ReadsAsAConversation) {
  const Tokenizer tokenizer = code_tokenizer();
  Trajectory trajectory;
  trajectory.task = "softmax";
  const auto append = [&](const std::string& text, Role role) {
    for (int32_t id : tokenizer.encode(text)) trajectory.ids.push_back(id), trajectory.roles.push_back(role);
  };
  append("Write it.", Role::kPrompt);
  const auto begin = int32_t(trajectory.ids.size());
  append("One pass.\n", Role::kPlan);
  append("```\nvoid kernel();\n```\n", Role::kCode);
  Turn turn{begin, int32_t(trajectory.ids.size()), false, {}};
  turn.verdict.kind = VerdictKind::kFailIncorrect;
  turn.verdict.reason = "tolerance";
  trajectory.turns = {turn};
  append("FAIL", Role::kFeedback);
  EXPECT_EQ(
      to_text(trajectory, tokenizer),
      "=== softmax, step 0, sample 0\n--- prompt\nWrite it.\n--- plan\nOne pass.\n\n--- code\n```\nvoid "
      "kernel();\n```\n\n--- verdict (cut at the length limit)\nFAIL_INCORRECT (tolerance)\n--- "
      "feedback\nFAIL\n");
}

TEST(TrajectoriesForOtherRanks, KeepEveryBit) {
  std::vector<Trajectory> sent;
  for (uint64_t seed = 0; seed < 20; ++seed) sent.push_back(random_trajectory(seed));
  sent[3].log_probs[sent[3].log_probs.size() - 1] = std::nextafter(-1.0f, 0.0f);
  const auto received = trajectories_from_bytes(to_bytes(sent));
  ASSERT_EQ(received.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    expect_equal(received[i], sent[i]);
    EXPECT_EQ(received[i].log_probs, sent[i].log_probs);
    EXPECT_EQ(received[i].turns.back().verdict.message, sent[i].turns.back().verdict.message);
    EXPECT_EQ(received[i].turns.back().verdict.candidate_us, sent[i].turns.back().verdict.candidate_us);
  }
  EXPECT_TRUE(trajectories_from_bytes(to_bytes({})).empty());
}

}  // namespace
}  // namespace temper
