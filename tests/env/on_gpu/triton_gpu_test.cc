// Every candidate of tests/env/plan/triton/candidates that names a task, from source to verdict. Their first lines say what
// is expected: a plan, which must then pass, or a kind and a reason.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "env/judge/judge.h"
#include "env/languages/language.h"

namespace temper::env {
namespace {

const std::filesystem::path kCandidates =
    std::filesystem::path(TEMPER_SOURCE_DIR) / "tests/env/plan/triton/candidates";

struct Candidate {
  std::string name, source, task, expected;
};

// Those that name a task.
std::vector<Candidate> candidates() {
  std::vector<Candidate> found;
  for (const auto& entry : std::filesystem::directory_iterator(kCandidates)) {
    if (entry.path().extension() != ".py") continue;
    Candidate candidate{entry.path().stem(), read_file(entry.path()), "", ""};
    std::istringstream lines(candidate.source);
    for (std::string line; std::getline(lines, line) && line.starts_with("# ");) {
      if (line.starts_with("# task: ")) candidate.task = line.substr(8, line.find(' ', 8) - 8);
      if (line.starts_with("# expected: ")) candidate.expected = line.substr(12);
    }
    if (!candidate.task.empty()) found.push_back(std::move(candidate));
  }
  return found;
}

std::vector<Task> tasks_of(const std::vector<Candidate>& all) {
  std::set<std::string> names;
  for (const Candidate& candidate : all) names.insert(candidate.task);
  const auto known = load_tasks(std::filesystem::path(TEMPER_SOURCE_DIR) / "env/tasks/cuda");
  std::vector<Task> tasks;
  for (const std::string& name : names) tasks.push_back(asked_in(kTriton, find_task(known, name)));
  return tasks;
}

// "PASS", "FAIL_PLAN two_runs".
std::string words_of(const Verdict& verdict) {
  return std::string(to_string(verdict.kind)) + (verdict.reason.empty() ? "" : " " + verdict.reason);
}

TEST(TritonOnGpu, EveryCandidateGetsItsVerdict) {
  const std::vector<Candidate> all = candidates();
  ASSERT_GE(all.size(), 40u);
  std::unique_ptr<Judge> judge;
  try {
    JudgeOptions options;
    options.compile_timeout_s = 120;  // what compiles is not asked how long it takes
    judge = std::make_unique<Judge>(options, tasks_of(all));
  } catch (const WorldError& e) {
    const std::string missing = e.what();
    const auto says = [&](const char* words) { return missing.find(words) != std::string::npos; };
    if (!says("no NVIDIA driver") && !says("sees no GPU") && !says("need a Python with torch"))
      FAIL() << missing;
    GTEST_SKIP() << missing;
  }
  std::map<Ticket, const Candidate*> asked;
  for (const Candidate& candidate : all) asked[judge->submit(candidate.task, candidate.source)] = &candidate;
  while (judge->pending() > 0) {
    for (const auto& [ticket, verdict] : judge->poll(std::chrono::milliseconds(100))) {
      const Candidate& candidate = *asked.at(ticket);
      const std::string expected = candidate.expected == "plan" ? "PASS" : candidate.expected;
      EXPECT_EQ(words_of(verdict), expected) << candidate.name << ": " << verdict.message;
      fmt::print("{:<32} {:<16} {:9.2f} us, eager {:9.2f} us\n", candidate.name, words_of(verdict),
                 verdict.candidate_us, verdict.baseline_us);
    }
  }
}

}  // namespace
}  // namespace temper::env
