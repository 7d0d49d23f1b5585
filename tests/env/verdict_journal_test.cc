#include "env/verdict_journal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/files.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

class Journal : public testing::Test {
 protected:
  Journal() { fs::create_directories(root_); }
  ~Journal() override { fs::remove_all(root_); }

  static Verdict took(double us) {
    Verdict verdict;
    verdict.kind = VerdictKind::kPass;
    verdict.candidate_us = us;
    return verdict;
  }
  VerdictJournal open(uint64_t known) {
    known_.clear();
    return {file_, known,
            [this](const std::string& digest, const Verdict& v) { known_[digest] = v.candidate_us; }};
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_journal_{}", ::getpid());
  const fs::path file_ = root_ / "rank_0.jsonl";
  std::map<std::string, double> known_;
};

TEST_F(Journal, TellsWhatWasBeforeAndGivesAgainWhatCameAfter) {
  uint64_t checkpoint = 0;
  {
    VerdictJournal journal = open(0);
    journal.add("a", took(1));
    checkpoint = fs::file_size(file_);
    journal.add("b", took(0.1));
    journal.add("c", took(3));
  }
  VerdictJournal journal = open(checkpoint);
  EXPECT_EQ(known_, (std::map<std::string, double>{{"a", 1}}));
  EXPECT_EQ(fs::file_size(file_), checkpoint);
  EXPECT_FALSE(journal.replay("a"));
  EXPECT_EQ(journal.replay("b")->candidate_us, 0.1);
  EXPECT_FALSE(journal.replay("b"));
  EXPECT_EQ(journal.left(), 1u);
}

TEST_F(Journal, KeepsWhatWasNotAskedForOverFurtherStops) {
  {
    VerdictJournal journal = open(0);
    for (const char* digest : {"a", "b", "c"}) journal.add(digest, took(2));
  }
  {
    VerdictJournal journal = open(0);
    journal.add("b", *journal.replay("b"));
    journal.add("d", took(4));
  }
  VerdictJournal journal = open(0);
  EXPECT_EQ(journal.left(), 4u);
  EXPECT_EQ(journal.replay("d")->candidate_us, 4);
}

TEST_F(Journal, DropsALineThatWasCutShort) {
  {
    VerdictJournal journal = open(0);
    journal.add("a", took(1));
    journal.add("b", took(2));
  }
  fs::resize_file(file_, fs::file_size(file_) - 9);
  EXPECT_EQ(open(0).left(), 1u);
}

}  // namespace
}  // namespace temper
