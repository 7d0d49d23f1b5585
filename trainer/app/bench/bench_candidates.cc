#include "trainer/app/bench/bench_candidates.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/input/scalars.h"
#include "env/languages/language.h"
#include "env/verdict/answer.h"
#include "rollout/traces/traces.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {
namespace {

constexpr int64_t kConversations = 160;

// What follows "// key: " on its line; empty: there is none.
std::string marked(const std::string& comment, const std::string& source, const std::string& key) {
  const std::string mark = comment + " " + key + ": ";
  const size_t at = source.find(mark);
  if (at == std::string::npos) return "";
  const size_t begin = at + mark.size();
  return source.substr(begin, source.find_first_of("\r\n", begin) - begin);
}

// "KIND|OTHER_KIND reason" → the kinds.
std::vector<std::string> kinds_of(const std::string& expected) {
  std::vector<std::string> kinds;
  const std::string words = expected.substr(0, expected.find(' '));
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find('|', begin), words.size());
    kinds.push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return kinds;
}

// "1.15" → 1.15.
std::optional<double> bound_of(const std::filesystem::path& path, const std::string& key,
                               const std::string& text) {
  if (text.empty()) return std::nullopt;
  double bound = 0;
  if (!parse_scalar(text, bound))
    throw ConfigError("--candidates {}: {}: {}: must be a number", path.string(), key, text);
  return bound;
}

using Candidates = std::vector<BenchCandidate>;

// One of `broken`, one of `wrong`, eight of `right`, and again while there are right ones.
Candidates mixed(const Candidates& right, const Candidates& broken, const Candidates& wrong) {
  Candidates all;
  for (size_t i = 0; i < right.size(); ++i) {
    if (i % 8 == 0 && !broken.empty()) all.push_back(broken[i / 8 % broken.size()]);
    if (i % 8 == 4 && !wrong.empty()) all.push_back(wrong[i / 8 % wrong.size()]);
    all.push_back(right[i]);
  }
  return all;
}

}  // namespace

std::string first_line(const env::Verdict& verdict) {
  return verdict.message.substr(0, verdict.message.find('\n'));
}

std::optional<std::string> BenchCandidate::unexpected(const env::Verdict& verdict) const {
  if (!expected.empty() && std::ranges::count(expected, env::to_string(verdict.kind)) == 0)
    return first_line(verdict);
  if (!verdict.pass()) return std::nullopt;
  if (speedup_below && verdict.speedup >= *speedup_below)
    return fmt::format("speedup {:.3g}, not below {}: {}", verdict.speedup, *speedup_below,
                       first_line(verdict));
  if (share_below && verdict.profile_share >= *share_below)
    return fmt::format("share {:.3g} in its own kernels, not below {}: {}", verdict.profile_share,
                       *share_below, first_line(verdict));
  return std::nullopt;
}

Candidates candidates_of(const std::filesystem::path& folder) {
  Candidates candidates;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const env::Language* const language = env::language_of_extension(entry.path().extension());
    const std::string comment = language ? language->comment : "//";
    const std::string source = read_file(entry.path()), task = marked(comment, source, "task");
    if (task.empty()) continue;
    const auto bound = [&](const char* key) {
      return bound_of(entry.path(), key, marked(comment, source, key));
    };
    candidates.push_back({entry.path().stem(), task, source, comment,
                          kinds_of(marked(comment, source, "expect")), bound("speedup_below"),
                          bound("share_below")});
  }
  std::ranges::sort(candidates, {}, &BenchCandidate::name);
  if (candidates.empty())
    throw ConfigError("--candidates {}: no file with a comment 'task: NAME'", folder.string());
  return candidates;
}

Candidates with_every_tenth(const Candidates& some, const Candidates& others) {
  if (others.empty()) return some;
  Candidates all;
  for (size_t i = 0; i < std::max(some.size(), 9 * others.size()); ++i) {
    all.push_back(some[i % some.size()]);
    if (i % 9 == 8) all.push_back(others[i / 9 % others.size()]);
  }
  return all;
}

Candidates trace_candidates(env::Judge& judge, uint64_t seed) {
  Candidates right, broken, wrong;
  for (const traces::Trace& trace : traces::make_traces({.conversations = kConversations, .generated = 0},
                                                        judge, seed, progress_bar("candidates", false)))
    for (const traces::TraceTurn& turn : trace.turns) {
      const std::string& language = env::find_task(judge.tasks(), trace.task).language;
      const env::Answer answer = env::extract_code(turn.answer, language);
      if (!answer.ok) continue;
      const bool compiles = turn.verdict.kind != env::VerdictKind::kFailCompile;
      const bool passed = turn.verdict.pass();
      (passed     ? right
       : compiles ? wrong
                  : broken)
          .push_back({trace.task, trace.task, answer.code, env::find_language(language).comment,
                      passed ? std::vector<std::string>{env::to_string(env::VerdictKind::kPass)}
                             : std::vector<std::string>{}});
    }
  throw_if_interrupted();
  if (right.empty()) throw WorldError("bench judge: no trace passed the judge");
  return mixed(right, broken, wrong);
}

}  // namespace temper::trainer
