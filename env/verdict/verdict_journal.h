#pragma once
// The verdicts of one run, in the order in which they came: what a run that was stopped cannot compute again
// to the bit, because it was timed.
//
// A run that goes on from a checkpoint knows those that came before it, and is given those that came after it
// again when it asks for them: as if they were judged at that moment. What it had asked for and no verdict
// came of has to be measured anew; the journal knows which.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "env/verdict/verdict.h"

namespace temper {

class VerdictJournal {
 public:
  // The file's first `known_bytes` are told to `known`; what follows is kept in FILE.replay until it is asked
  // for. A last line that was cut short is dropped. Errors: WorldError naming the path; ConfigError naming
  // the line of one that is no verdict.
  VerdictJournal(std::filesystem::path file, uint64_t known_bytes,
                 const std::function<void(const std::string& digest, const Verdict&)>& known);

  // The verdict that came before the run was stopped, once.
  std::optional<Verdict> replay(const std::string& digest);
  // The candidate is given to be judged. True if it was already before the run was stopped, and no verdict of
  // it was kept.
  bool ask(const std::string& digest);
  // `asked`: the digest that ask() was given. Errors: WorldError naming the file.
  void add(const std::string& digest, const Verdict& verdict, const std::string& asked = "");
  size_t left() const { return replay_.size(); }

 private:
  std::unordered_map<std::string, Verdict> replay_;
  std::unordered_set<std::string> unanswered_;
  AppendFile file_;
};

}  // namespace temper
