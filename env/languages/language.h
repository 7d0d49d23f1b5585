#pragma once
// The differences between candidates' languages before anything runs. Each language has one file, and one line in the
// table of language.cc.

#include <optional>
#include <string>
#include <vector>

#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper {

struct Language {
  std::string name;
  std::vector<std::string> compiler_flags;  // ours alone: nothing in a candidate changes them
  std::vector<std::string> newer_flags;     // beside them, for what does not compile without; or none
  std::string entry_point;                  // what a source must mention
  std::string entry_symbol;                 // what its object must define
  // The text that the compiler reads.
  std::string (*translation_unit)(const Task& task, const std::string& source);
  // Rejects what can be seen without a compiler; empty if nothing speaks against the source.
  Found gate(const std::string& source) const;
};

// Errors: ConfigError naming the languages there are.
const Language& find_language(const std::string& name);

extern const Language kCpp, kCuda;

}  // namespace temper
