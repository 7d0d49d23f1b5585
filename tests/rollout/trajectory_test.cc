#include "rollout/trajectory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <list>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "rollout/columns.h"
#include "rollout/trajectory_columns.h"
#include "rollout/trajectory_file.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::rollout {
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

enum class Rows { kOne, kSeveral };

Trajectory random_trajectory(uint64_t seed, Rows rows = Rows::kOne) {
  Rng rng(seed);
  Trajectory trajectory;
  trajectory.segments.resize(1);
  trajectory.task = "task_" + std::to_string(seed);
  trajectory.step = 7;
  trajectory.sample = int64_t(seed);
  for (Role role : {Role::kPrompt, Role::kPlan, Role::kCode, Role::kPlan, Role::kFeedback, Role::kCode}) {
    if (role == Role::kFeedback && rows == Rows::kSeveral)
      trajectory.segments.push_back(begin_segment(0, trajectory.segments[0], 2));
    Segment& row = trajectory.segments.back();
    const auto begin = int32_t(row.ids.size());
    for (uint64_t n = rng.below(9) + 1; n > 0; --n) {
      row.append({int32_t(rng.below(600))}, role);
      if (is_response(role)) row.log_probs.back() = float(-9 * rng.uniform());
    }
    if (role != Role::kCode) continue;
    Turn turn{.segment = int32_t(trajectory.segments.size()) - 1, .begin = begin};
    turn.end = int32_t(row.ids.size());
    turn.stopped = rng.below(2) == 0;
    if (rows == Rows::kSeveral) {
      row.append({1, 2, 3}, Role::kRequest);
      turn.summary = {turn.end + 3, turn.end + 5};
      row.append({4, 5}, Role::kSummary);
      row.log_probs.back() = -0.5;
    }
    turn.verdict.kind = env::VerdictKind::kPass;
    turn.verdict.message = "PASS speedup 1.25 \xFF";  // not UTF-8: must not end a run
    turn.verdict.details = "FAIL_COMPILE\nline 1: \"error\"\n    1 | x";
    turn.verdict.candidate_us = turn.verdict.baseline_us = 10 * rng.uniform();
    turn.verdict.speedup = rng.uniform();
    trajectory.turns.push_back(turn);
  }
  return trajectory;
}

void expect_equal(const Trajectory& a, const Trajectory& b) {
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.sample, b.sample);
  ASSERT_EQ(a.segments.size(), b.segments.size());
  for (size_t k = 0; k < a.segments.size(); ++k) {
    EXPECT_EQ(a.segments[k].parent, b.segments[k].parent);
    EXPECT_EQ(a.segments[k].prefix, b.segments[k].prefix);
    EXPECT_EQ(a.segments[k].ids, b.segments[k].ids);
    EXPECT_EQ(a.segments[k].roles, b.segments[k].roles);
    EXPECT_EQ(a.segments[k].log_probs, b.segments[k].log_probs);  // to the bit
  }
  ASSERT_EQ(a.turns.size(), b.turns.size());
  for (size_t n = 0; n < a.turns.size(); ++n) {
    EXPECT_EQ(a.turns[n].segment, b.turns[n].segment);
    EXPECT_EQ(a.turns[n].begin, b.turns[n].begin);
    for (size_t k = 0; k < 2; ++k) {
      const Span one = a.turns[n].spans()[k], other = b.turns[n].spans()[k];
      EXPECT_EQ(one.end - one.begin, other.end - other.begin);
      if (one.begin < one.end) {
        EXPECT_EQ(one.begin, other.begin);
      }
    }
    EXPECT_EQ(a.turns[n].end, b.turns[n].end);
    EXPECT_EQ(a.turns[n].stopped, b.turns[n].stopped);
    EXPECT_EQ(a.turns[n].verdict.kind, b.turns[n].verdict.kind);
    EXPECT_EQ(a.turns[n].verdict.details, b.turns[n].verdict.details);
    EXPECT_EQ(a.turns[n].verdict.candidate_us, b.turns[n].verdict.candidate_us);
    EXPECT_EQ(a.turns[n].verdict.speedup, b.turns[n].verdict.speedup);
  }
}

// What reading says of a trajectory of two turns, one of its columns replaced.
template <class T>
std::string error_with(const std::string& column, const std::vector<T>& numbers) {
  const std::vector<Trajectory> sent = {random_trajectory(1)};
  const ColumnReader whole(to_columns(pointers_to(sent), ColumnForm::kRaw));
  std::list<std::variant<std::vector<uint8_t>, std::vector<int32_t>, std::vector<int64_t>, std::vector<float>,
                         std::vector<double>>>
      kept;
  ColumnWriter writer;
  for (const char* note : {"format", "version", "tasks"}) writer.note(note, whole.note(note));
  const auto add = [&]<class N>(const std::string& name, N) {
    const auto found = whole.numbers<N>(name);
    writer.add(name, std::get<std::vector<N>>(kept.emplace_back(std::vector<N>(found.begin(), found.end()))),
               false);
  };
  const auto add_unless_replaced = [&]<class N>(const std::string& name, N number) {
    if (name == column)
      writer.add(name, numbers, false);
    else
      add(name, number);
  };
  for (const char* name : {"trajectory.task", "segment.trajectory", "segment.parent", "segment.prefix",
                           "token.id", "turn.trajectory", "turn.segment"})
    add_unless_replaced(name, int32_t());
  for (const char* name : {"trajectory.step", "trajectory.sample", "segment.begin", "segment.end",
                           "turn.begin", "turn.end", "turn.summary_begin", "turn.summary_end"})
    add_unless_replaced(name, int64_t());
  for (const char* name : {"token.role", "turn.stopped", "turn.kind"}) add(name, uint8_t());
  for (const char* name :
       {"turn.speedup", "turn.speedup_low", "turn.speedup_high", "turn.candidate_us", "turn.baseline_us"})
    add(name, double());
  add("token.log_prob", float());
  writer.add_text("turn.verdict", whole.text("turn.verdict"));
  try {
    from_columns(writer.file());
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_F(TrajectoryTest, ComesBackFromTheFile) {
  const Batch batch{7, {{"a", {random_trajectory(1), random_trajectory(2)}}, {"b", {random_trajectory(3)}}}};
  for (const bool compress : {false, true}) {
    write_trajectories(path_, pointers_to(batch), compress);
    const auto found = read_trajectories(path_);
    ASSERT_EQ(found.size(), 3u);
    for (size_t n = 0; n < 3; ++n) expect_equal(found[n], random_trajectory(1 + n));
  }
  const Batch several{
      7,
      {{"a",
        {random_trajectory(1, Rows::kSeveral), random_trajectory(2), random_trajectory(3, Rows::kSeveral)}}}};
  write_trajectories(path_, pointers_to(several));
  const auto found = read_trajectories(path_);
  for (size_t n = 0; n < 3; ++n) expect_equal(found[n], several.groups[0].samples[n]);
  write_trajectories(path_, {});
  EXPECT_TRUE(read_trajectories(path_).empty());
}

TEST_F(TrajectoryTest, ABrokenOffFileIsSaid) {
  write_trajectories(path_, pointers_to(Batch{7, {{"a", {random_trajectory(1)}}}}));
  const std::string whole = read_file(path_);
  for (size_t bytes = 0; bytes < whole.size(); bytes += 1 + bytes / 50) {
    const std::string error = read_error(whole.substr(0, bytes));
    EXPECT_NE(error.find(path_.string() + ": not trajectories: broken off"), std::string::npos)
        << bytes << ": " << error;
  }
  EXPECT_NE(read_error(whole + "more"), "");
  EXPECT_NE(read_error("{\"task\":\"a\"}\n"), "");
}

TEST_F(TrajectoryTest, AChangedByteIsRefused) {
  const std::vector<Trajectory> sent = {random_trajectory(1), random_trajectory(2)};
  for (const ColumnForm form : {ColumnForm::kRaw, ColumnForm::kZstd}) {
    const std::string whole = to_columns(pointers_to(sent), form);
    EXPECT_EQ(from_columns(whole).size(), 2u);
    for (size_t at = 0; at < whole.size(); ++at)
      for (const int flip : {1, 0x20, 0x80}) {
        std::string changed = whole;
        changed[at] = char(changed[at] ^ flip);
        EXPECT_THROW(from_columns(changed), ConfigError) << at;
      }
  }
}

// Tables that contradict each other, under a digest that fits them.
TEST_F(TrajectoryTest, TablesThatContradictEachOtherAreRefused) {
  const std::map<std::string, std::vector<int32_t>> narrow = {
      {"trajectory.task", {7}}, {"segment.trajectory", {1}},  {"segment.parent", {0}},
      {"segment.prefix", {1}},  {"turn.trajectory", {-1, 0}}, {"turn.segment", {1, 0}},
      {"token.id", {1}}};
  const std::map<std::string, std::vector<int64_t>> wide = {
      {"segment.begin", {1}},         {"segment.end", {1 << 30}},
      {"turn.begin", {-1, 0}},        {"turn.end", {0, int64_t(1) << 40}},
      {"turn.summary_begin", {0, 0}}, {"turn.summary_end", {0, int64_t(1) << 40}}};
  for (const auto& [column, numbers] : narrow) EXPECT_NE(error_with(column, numbers), "") << column;
  for (const auto& [column, numbers] : wide) EXPECT_NE(error_with(column, numbers), "") << column;
  EXPECT_EQ(error_with<int32_t>("trajectory.task", {0}), "");
}

TEST_F(TrajectoryTest, AFullDiskLeavesTheFileAsItWas) {
  write_trajectories(path_, pointers_to(Batch{7, {{"a", {random_trajectory(1)}}}}));
  const std::string before = read_file(path_);
  for (const char* failing : {"open", "write", "fsync", "rename"}) {
    watch_file_calls([&](const char* call, const fs::path&) {
      if (std::string(call) == failing) throw WorldError("{} fails", call);
    });
    EXPECT_THROW(write_trajectories(path_, {}), WorldError) << failing;
    watch_file_calls({});
    EXPECT_EQ(read_file(path_), before) << failing;
  }
  EXPECT_THROW(write_trajectories(path_ / "below" / "nothing", {}), WorldError);
}

TEST_F(TrajectoryTest, AnOlderProgramsRecordIsSaid) {
  const fs::path folder = path_.string() + "_folder";
  fs::create_directory(folder);
  write_file(folder / "step_000001.jsonl", "{}\n");
  EXPECT_THROW(recorded_trajectories(folder), ConfigError);
  write_trajectories(folder / "step_000002.safetensors", {});
  write_trajectories(folder / "eval_before.safetensors", {});
  EXPECT_EQ(recorded_trajectories(folder), (std::vector<std::string>{"eval_before", "step_000002"}));
  fs::remove_all(folder);
}

TEST_F(TrajectoryTest, ATokenThatTheTokenizerLacksIsNamed) {
  Trajectory trajectory;
  trajectory.task = "softmax";
  trajectory.segments.resize(1);
  trajectory.segments[0].append({3, 640}, Role::kPrompt);
  check_ids(trajectory, 641);
  try {
    check_ids(trajectory, 640);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "a trajectory of task softmax holds token 640, but the tokenizer has 640: it is another one");
  }
  trajectory.segments[0].ids[0] = -1;
  EXPECT_THROW(check_ids(trajectory, 641), ConfigError);
}

TEST_F(TrajectoryTest, ReadsAsAConversation) {
  const policy::Tokenizer tokenizer = policy::code_tokenizer();
  Trajectory trajectory;
  trajectory.task = "softmax";
  trajectory.segments.resize(1);
  const auto append = [&](const std::string& text, Role role) {
    trajectory.segments[0].append(tokenizer.encode(text), role);
  };
  append("Write it.", Role::kPrompt);
  const auto begin = int32_t(trajectory.segments[0].ids.size());
  append("One pass.\n", Role::kPlan);
  append("```\nvoid kernel();\n```\n", Role::kCode);
  Turn turn{.begin = begin, .end = int32_t(trajectory.segments[0].ids.size())};
  turn.verdict.kind = env::VerdictKind::kFailIncorrect;
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
  sent[3].segments[0].log_probs.back() = std::nextafter(-1.0f, 0.0f);
  const auto received = trajectories_from_bytes(to_bytes(sent));
  ASSERT_EQ(received.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    expect_equal(received[i], sent[i]);
    EXPECT_EQ(received[i].turns.back().verdict.message, sent[i].turns.back().verdict.message);
    EXPECT_EQ(received[i].turns.back().verdict.details, sent[i].turns.back().verdict.details);
    EXPECT_EQ(received[i].turns.back().verdict.candidate_us, sent[i].turns.back().verdict.candidate_us);
  }
  EXPECT_TRUE(trajectories_from_bytes(to_bytes({})).empty());
}

}  // namespace
}  // namespace temper::rollout
