// Lines of a journal of verdicts.

#include <filesystem>

#include "env/verdict/verdict_journal.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(verdict_journal) {
  static fuzz::ScratchFile journal("journal.jsonl");
  fuzz::Front front(bytes);
  const uint64_t known = front.byte() * 16;
  const std::string path = journal.holding(front.rest());
  std::filesystem::remove(path + ".replay");
  fuzz::either_way([&] { VerdictJournal(path, known, [](const std::string&, const Verdict&) {}); });
}

}  // namespace temper::env
