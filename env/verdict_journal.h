#pragma once
// The verdicts of one run, in the order in which they came: what a run that was stopped cannot compute again
// to the bit, because it was timed.
//
// A run that goes on from a checkpoint knows those that came before it, and is given those that came after it
// again when it asks for them: as if they were judged at that moment.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "env/verdict.h"

namespace temper {

class VerdictJournal {
 public:
  // The file's first `known_bytes` are told to `known`; what follows is kept in FILE.replay until it is asked
  // for. Lines that were cut short are dropped. Errors: WorldError naming the path.
  VerdictJournal(std::filesystem::path file, uint64_t known_bytes,
                 const std::function<void(const std::string& digest, const Verdict&)>& known);

  // The verdict that came before the run was stopped, once.
  std::optional<Verdict> replay(const std::string& digest);
  void add(const std::string& digest, const Verdict& verdict);
  size_t left() const { return replay_.size(); }

 private:
  std::unordered_map<std::string, Verdict> replay_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
};

}  // namespace temper
