#pragma once
// The gallery's candidates, each with what its first lines expect of its verdict:
//
//   // task: add
//   // expect: KIND|OTHER_KIND reason      the reason by its beginning; none: any
//   // no faster than: NAME                another candidate of the gallery, its interval, and a third
//   // naive: passes                      a naive judge, where it is asked, lets it
//   // message: without TEXT               … of the verdict; or the beginning of what follows its kind

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/files.h"
#include "env/judge/judge.h"

namespace temper::env {

struct Exhibit {
  std::string name, source;
  std::map<std::string, std::string> expected;  // by key
};

inline Exhibit read_exhibit(const std::filesystem::path& path) {
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

inline std::vector<Exhibit> read_gallery(const std::filesystem::path& folder, const std::string& extension) {
  std::vector<Exhibit> gallery;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension) gallery.push_back(read_exhibit(entry.path()));
  std::sort(gallery.begin(), gallery.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return gallery;
}

// What could not be judged, for this machine was too busy, is asked again some times.
inline std::map<std::string, Verdict> judge_all(Judge& judge, const std::vector<Exhibit>& gallery) {
  constexpr int kTries = 4;
  std::map<Ticket, const Exhibit*> asked;
  std::map<std::string, int> tries;
  const auto ask = [&](const Exhibit& exhibit) {
    ++tries[exhibit.name];
    asked[judge.submit(exhibit.expected.at("task"), exhibit.source)] = &exhibit;
  };
  for (const Exhibit& exhibit : gallery) ask(exhibit);
  std::map<std::string, Verdict> verdicts;
  while (judge.pending() > 0) {
    for (auto& judged : judge.poll(std::chrono::milliseconds(100))) {
      const Exhibit& exhibit = *asked.at(judged.ticket);
      if (judged.verdict.infra() && tries[exhibit.name] < kTries)
        ask(exhibit);
      else
        verdicts[exhibit.name] = std::move(judged.verdict);
    }
  }
  return verdicts;
}

inline std::string text_of(const Verdict& verdict) {
  return fmt::format("{} {} ({}) {:.2f}x", to_string(verdict.kind), verdict.reason, verdict.message,
                     verdict.speedup);
}

inline bool as_expected(const Verdict& verdict, const std::string& expectation) {
  std::istringstream words(expectation);
  std::string kinds, reason;
  words >> kinds >> reason;
  std::istringstream allowed(kinds);
  for (std::string kind; std::getline(allowed, kind, '|');) {
    if (kind == to_string(verdict.kind)) return verdict.reason.starts_with(reason);
  }
  return false;
}

inline bool message_fits(const Verdict& verdict, const std::string& expectation) {
  constexpr std::string_view kWithout = "without ";
  if (expectation.starts_with(kWithout)) {
    return verdict.message.find(expectation.substr(kWithout.size())) == std::string::npos;
  }
  return verdict.message.starts_with(to_string(verdict.kind) + (" " + expectation));
}

inline const Exhibit& named(const std::vector<Exhibit>& gallery, const std::string& name) {
  return *std::find_if(gallery.begin(), gallery.end(), [&](const Exhibit& e) { return e.name == name; });
}

// Load that comes and goes makes one of two look faster for once; what gains by its trick does so each time.
inline void expect_no_faster(Verdict verdict, const Exhibit& exhibit, Verdict honest, const Exhibit& control,
                             Judge* judge) {
  constexpr double kNoise = 1.3;
  constexpr int kRounds = 4;
  const auto faster = [&] { return verdict.speedup >= kNoise * honest.speedup_high; };
  for (int round = 1; round < kRounds && faster() && judge != nullptr; ++round) {
    const std::string anew = fmt::format("\n// round {}\n", round);
    honest = judge->judge(control.expected.at("task"), control.source + anew);
    verdict = judge->judge(exhibit.expected.at("task"), exhibit.source + anew);
  }
  EXPECT_FALSE(faster()) << exhibit.name << ": " << text_of(verdict) << "; honest: " << text_of(honest);
}

// `judge`: judges again what a moment's load made look faster than it is.
inline void compare_with_expectations(const std::vector<Exhibit>& gallery,
                                      const std::map<std::string, Verdict>& verdicts,
                                      Judge* judge = nullptr) {
  for (const Exhibit& exhibit : gallery) {
    const auto& [name, source, expected] = exhibit;
    const Verdict& verdict = verdicts.at(name);
    EXPECT_TRUE(as_expected(verdict, expected.at("expect")))
        << name << ": expected " << expected.at("expect") << ", got " << text_of(verdict);
    if (const auto it = expected.find("message"); it != expected.end()) {
      EXPECT_TRUE(message_fits(verdict, it->second)) << name << ": " << verdict.message;
    }
    if (verdict.naive && expected.contains("naive")) {
      EXPECT_EQ(expected.at("naive"), verdict.naive->pass ? "passes" : "fails") << name;
    }
    if (const auto it = expected.find("no faster than"); it != expected.end()) {
      const Verdict& honest = verdicts.at(it->second);
      expect_no_faster(verdict, exhibit, honest, named(gallery, it->second), judge);
    }
  }
}

}  // namespace temper::env
