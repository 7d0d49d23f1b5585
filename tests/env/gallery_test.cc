// Every candidate of tests/gallery through the real judge. A candidate's first lines say what is expected:
//
//   // task: add
//   // expect: KIND|OTHER_KIND reason      the reason by its beginning; none: any
//   // no faster than: NAME                another candidate of the gallery, its interval, and a third
//   // message: without TEXT               … of the verdict; or the beginning of what follows its kind

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "env/judge.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
const fs::path kGallery = fs::path(TEMPER_SOURCE_DIR) / "tests/gallery";
constexpr double kNoise = 1.3;

struct Exhibit {
  std::string name, source;
  std::map<std::string, std::string> expected;  // by key
};

Exhibit read_exhibit(const fs::path& path) {
  Exhibit exhibit{path.stem(), read_file(path), {}};
  std::istringstream lines(exhibit.source);
  for (std::string line; std::getline(lines, line) && line.starts_with("// ");) {
    if (line.ends_with('\r')) line.pop_back();
    const size_t colon = line.find(": ");
    if (colon != std::string::npos)
      exhibit.expected.emplace(line.substr(3, colon - 3), line.substr(colon + 2));
  }
  return exhibit;
}

std::vector<Exhibit> read_gallery() {
  std::vector<Exhibit> gallery;
  for (const auto& entry : fs::directory_iterator(kGallery / "cpp"))
    gallery.push_back(read_exhibit(entry.path()));
  std::sort(gallery.begin(), gallery.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return gallery;
}

JudgeOptions options() {
  JudgeOptions options;
  options.run_timeout_s = 1;
  options.compile_timeout_s = 4;
  return options;
}

std::map<std::string, Verdict> judge_all(const std::vector<Exhibit>& gallery) {
  Judge judge(options(), load_tasks(kGallery / "tasks.yaml"));
  std::map<Ticket, std::string> names;
  for (const auto& exhibit : gallery) {
    names[judge.submit(exhibit.expected.at("task"), exhibit.source)] = exhibit.name;
  }
  std::map<std::string, Verdict> verdicts;
  while (judge.pending() > 0) {
    for (auto& judged : judge.poll(std::chrono::milliseconds(100))) {
      verdicts[names.at(judged.ticket)] = std::move(judged.verdict);
    }
  }
  return verdicts;
}

std::string text_of(const Verdict& verdict) {
  return fmt::format("{} {} ({}) {:.2f}x", to_string(verdict.kind), verdict.reason, verdict.message,
                     verdict.speedup);
}

bool as_expected(const Verdict& verdict, const std::string& expectation) {
  std::istringstream words(expectation);
  std::string kinds, reason;
  words >> kinds >> reason;
  std::istringstream allowed(kinds);
  for (std::string kind; std::getline(allowed, kind, '|');) {
    if (kind == to_string(verdict.kind)) return verdict.reason.starts_with(reason);
  }
  return false;
}

bool message_fits(const Verdict& verdict, const std::string& expectation) {
  constexpr std::string_view kWithout = "without ";
  if (expectation.starts_with(kWithout)) {
    return verdict.message.find(expectation.substr(kWithout.size())) == std::string::npos;
  }
  return verdict.message.starts_with(to_string(verdict.kind) + (" " + expectation));
}

TEST(Gallery, EveryCandidateGetsItsVerdict) {
  const auto gallery = read_gallery();
  ASSERT_GE(gallery.size(), 100u);
  auto verdicts = judge_all(gallery);
  for (const auto& [name, source, expected] : gallery) {
    const Verdict& verdict = verdicts.at(name);
    EXPECT_TRUE(as_expected(verdict, expected.at("expect")))
        << name << ": expected " << expected.at("expect") << ", got " << text_of(verdict);
    if (const auto it = expected.find("message"); it != expected.end()) {
      EXPECT_TRUE(message_fits(verdict, it->second)) << name << ": " << verdict.message;
    }
    if (const auto it = expected.find("no faster than"); it != expected.end()) {
      const Verdict& honest = verdicts.at(it->second);
      EXPECT_LT(verdict.speedup, kNoise * honest.speedup_high) << name << ": " << text_of(honest);
    }
  }
}

TEST(Gallery, HugeSourcesAreRefusedAtOnce) {
  Judge judge(options(), load_tasks(kGallery / "tasks.yaml"));
  const std::string line = "// kernel " + std::string(64 << 20, ' ');
  const Verdict verdict = judge.judge("add", line);
  EXPECT_EQ(text_of(verdict).find("FAIL_COMPILE source_too_long (FAIL_COMPILE the source is too long"), 0u)
      << text_of(verdict).substr(0, 200);
}

TEST(Gallery, ACandidateLeavesNothingToTheNext) {
  Judge judge(options(), load_tasks(kGallery / "tasks.yaml"));
  const std::string honest = read_file(kGallery / "cpp/add_plain.cc");
  for (const char* name : {"endless_and_deaf", "memory_bomb", "forged_frames_then_exit", "disk_bomb"}) {
    judge.judge("add", read_file(kGallery / "cpp" / (std::string(name) + ".cc")));
    const Verdict verdict = judge.judge("add", honest + "// after " + name + "\n");
    EXPECT_TRUE(verdict.pass()) << name << ": " << text_of(verdict);
  }
}

}  // namespace
}  // namespace temper
