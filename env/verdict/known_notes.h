#pragma once
// Notes on problems in PyTorch that outlive the run: lines of JSON in the file of problem_sizes.h.

#include <filesystem>
#include <map>
#include <string>

#include "base/files.h"
#include "env/task/task.h"
#include "env/verdict/problem_notes.h"

namespace temper::env {

class KnownNotes {
 public:
  // `path` empty: in memory alone. Lines that cannot be read, and a file that cannot be written, are as for ProblemSizes.
  explicit KnownNotes(std::filesystem::path path);

  // By source and precision; null if no judge has opened the problem. Of several machines the last one's.
  const ProblemNotes* find(const Task& task) const;
  // Writes what is not known yet.
  void add(const Task& task, const ProblemNotes& notes);

 private:
  std::filesystem::path path_;  // empty: nothing is written
  std::map<std::string, ProblemNotes> known_;
  AppendFile file_;  // opened by the first that is added
};

}  // namespace temper::env
