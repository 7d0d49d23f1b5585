#pragma once
// The verdicts of one run, in the order in which they arrived. A run that was stopped cannot reproduce them to the
// bit, because they contain measured times.
//
// A run that resumes from a checkpoint takes the verdicts from before the checkpoint as known. Verdicts from after
// the checkpoint are replayed when their candidates are submitted again, as if they had just been judged. A
// candidate that was submitted but has no verdict must be measured again; the journal records these, too.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/files.h"
#include "env/verdict/verdict.h"

namespace temper::env {

class VerdictJournal {
 public:
  // Calls `known` for each verdict in the file's first `known_bytes`; those after them are moved to FILE.replay
  // until they are asked for. A last line that was cut short is dropped. Errors: WorldError naming the path;
  // ConfigError naming a line that is not a verdict.
  VerdictJournal(std::filesystem::path file, uint64_t known_bytes,
                 const std::function<void(const std::string& digest, const Verdict&)>& known);

  // The verdict from before the run was stopped. It is returned once and then forgotten.
  std::optional<Verdict> replay(const std::string& digest);
  // Records that the candidate is submitted. Returns true if it had been submitted before the run was stopped and
  // no verdict of it was kept.
  bool ask(const std::string& digest);
  // `asked`: the digest that ask() was given. Errors: WorldError naming the file.
  void add(const std::string& digest, const Verdict& verdict, const std::string& asked = "");
  size_t left() const { return replay_.size(); }

 private:
  std::unordered_map<std::string, Verdict> replay_;
  std::unordered_set<std::string> unanswered_;
  AppendFile file_;
};

}  // namespace temper::env
