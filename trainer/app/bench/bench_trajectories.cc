#include "trainer/app/bench/bench_trajectories.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/rng.h"
#include "rollout/trajectory_file.h"
#include "trainer/app/checks.h"

namespace temper::trainer {

using rollout::Role;
using rollout::Trajectory;

namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

constexpr double kVocabulary = 151936;

struct TrajectoryBenchWords {
  int64_t trajectories = 256, turns = 3, tokens = 4096, rounds = 5;
  std::string dir = "/tmp";
};

// Ids as frequent as words of a text are (Zipf), log-probs mostly near 0. A quarter of a turn is what it is
// told, the rest its answer.
void add_turn(Rng& rng, int64_t tokens, Trajectory& t) {
  rollout::Turn turn;
  rollout::Segment& row = t.segments.front();
  for (int64_t i = 0; i < tokens; ++i) {
    const Role role = i < tokens / 4 ? Role::kPrompt : i < tokens / 2 ? Role::kPlan : Role::kCode;
    row.ids.push_back(int32_t(std::pow(kVocabulary, rng.uniform())) - 1);
    row.roles.push_back(role);
    row.log_probs.push_back(rollout::is_response(role) ? float(std::log1p(-std::pow(rng.uniform(), 4))) : 0);
  }
  turn.begin = int32_t(row.ids.size()) - int32_t(tokens - tokens / 4), turn.end = int32_t(row.ids.size());
  turn.verdict.kind = env::VerdictKind::kFailIncorrect;
  for (int line = 0; line < 8; ++line)
    turn.verdict.message += fmt::format("output[{}]: {:.6f}, expected {:.6f}\n", rng.below(1 << 20),
                                        rng.uniform(), rng.uniform());
  t.turns.push_back(turn);
}

std::vector<Trajectory> random_step(const TrajectoryBenchWords& words) {
  std::vector<Trajectory> step;
  Rng rng(1);
  for (int64_t i = 0; i < words.trajectories; ++i) {
    Trajectory t;
    t.task = fmt::format("task_{}", i / 16), t.sample = i % 16, t.segments.resize(1);
    for (int64_t turn = 0; turn < words.turns; ++turn) add_turn(rng, words.tokens, t);
    step.push_back(std::move(t));
  }
  return step;
}

// What is compared with: a line for each trajectory, a decimal for each log-prob of a response.
std::string json_lines(const std::vector<Trajectory>& step) {
  std::string text;
  for (const Trajectory& t : step) {
    Json log_probs = Json::array(), turns = Json::array();
    const rollout::Segment& row = t.segments.front();
    for (size_t i = 0; i < row.ids.size(); ++i)
      if (rollout::is_response(row.roles[i]))
        log_probs.push_back(Json::parse(fmt::format("{}", row.log_probs[i])));
    for (const rollout::Turn& turn : t.turns)
      turns.push_back({turn.begin, turn.end, turn.stopped, turn.verdict});
    text +=
        Json{{"task", t.task}, {"ids", row.ids}, {"log_probs", log_probs}, {"turns", turns}}.dump() + "\n";
  }
  return text;
}

void parse_lines(const std::string& text) {
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    TEMPER_CHECK(Json::parse(text.begin() + ptrdiff_t(begin), text.begin() + ptrdiff_t(end)).is_object());
  }
}

// The fastest of some rounds.
double milliseconds(int64_t rounds, const std::function<void()>& call) {
  double best_s = std::numeric_limits<double>::infinity();
  for (int64_t round = 0; round < rounds && !interrupted(); ++round) {
    const double start_s = now_s();
    call();
    best_s = std::min(best_s, now_s() - start_s);
  }
  return best_s * 1e3;
}

int bench_trajectories(const TrajectoryBenchWords& words) {
  const std::vector<Trajectory> step = random_step(words);
  const fs::path path = fs::path(words.dir) / fmt::format("temper_bench_{}", ::getpid());
  fmt::print("{} trajectories of {} turns of {} tokens, fastest of {}\n{:<16}{:>10}{:>12}{:>12}\n",
             words.trajectories, words.turns, words.tokens, words.rounds, "", "MB", "write ms", "read ms");
  const auto row = [&](const char* name, const std::function<void()>& write,
                       const std::function<void()>& read) {
    const double write_ms = milliseconds(words.rounds, write), read_ms = milliseconds(words.rounds, read);
    fmt::print("{:<16}{:>10.1f}{:>12.0f}{:>12.0f}\n", name, double(fs::file_size(path)) * 1e-6, write_ms,
               read_ms);
  };
  row(
      "JSON lines", [&] { write_file_atomic(path, json_lines(step)); },
      [&] { parse_lines(read_file(path)); });
  for (const bool compress : {false, true})
    row(
        compress ? "columns, zstd" : "columns, raw",
        [&] { rollout::write_trajectories(path, rollout::pointers_to(step), compress); },
        [&] { TEMPER_CHECK(rollout::read_trajectories(path).size() == step.size()); });
  fs::remove(path);
  return kExitOk;
}

}  // namespace

void add_bench_trajectories(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand("trajectories",
                                       "MB and ms of a step's trajectories on the disk, beside JSON lines");
  const auto words = std::make_shared<TrajectoryBenchWords>();
  command->add_option("--trajectories", words->trajectories, "trajectories of the step")
      ->check(between(1, 1 << 20));
  command->add_option("--turns", words->turns, "turns of a trajectory")->check(between(1, 1000));
  command->add_option("--tokens", words->tokens, "tokens of a turn")->check(between(8, 1 << 20));
  command->add_option("--rounds", words->rounds, "rounds, of which the fastest counts")
      ->check(between(1, 1000));
  command->add_option("--dir", words->dir, "where the file is written; it is removed")
      ->transform(path_word())
      ->check(CLI::ExistingDirectory);
  command->callback([=, &exit_code] { exit_code = bench_trajectories(*words); });
}

}  // namespace temper::trainer
