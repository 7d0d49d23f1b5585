#pragma once
// The candidates that `temper bench judge` submits.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "env/judge/judge.h"

namespace temper::trainer {

// The first line of a verdict's message.
std::string first_line(const env::Verdict& verdict);

struct BenchCandidate {
  std::string name;  // the file's name without folder and extension, or the name of a trace's task
  std::string task, source;
  std::string comment = "//";  // what a comment begins with in its language
  // What the file says of its verdict, and empty where it says nothing.
  std::vector<std::string> expected = {};  // "// expect: KIND|OTHER_KIND reason"
  // A pass must have a smaller speedup, "// speedup_below: 1.15", and spend a smaller share of the GPU's time in kernels of
  // its own, "// share_below: 0.2".
  std::optional<double> speedup_below = {}, share_below = {};

  // What the verdict is and should not be; nothing where it is as expected.
  std::optional<std::string> unexpected(const env::Verdict& verdict) const;
};

// Reads the source files of a folder that name their task in a comment, "// task: NAME" or "# task: NAME". They come in the order
// of their file names. Errors: ConfigError if no file names a task, or if a file gives a bound that is not a number.
std::vector<BenchCandidate> candidates_of(const std::filesystem::path& folder);

// Nine of `some`, one of `others`, and so on until all of both have been there.
std::vector<BenchCandidate> with_every_tenth(const std::vector<BenchCandidate>& some,
                                             const std::vector<BenchCandidate>& others);

// Answers of cold-start traces, judged once. Of every ten, one does not compile, one is wrong and eight pass. Errors:
// WorldError if no trace passes.
std::vector<BenchCandidate> trace_candidates(env::Judge& judge, uint64_t seed);

}  // namespace temper::trainer
