#include "env/verdict/verdict_journal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/error.h"
#include "base/files.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

class Journal : public testing::Test {
 protected:
  Journal() { fs::create_directories(root_); }
  ~Journal() override { fs::remove_all(root_); }

  static Verdict took(double us) {
    Verdict verdict;
    verdict.kind = VerdictKind::kPass;
    verdict.candidate_us = verdict.baseline_us = us;
    verdict.speedup = 1;
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

TEST_F(Journal, KnowsWhatWasAskedForAndNeverAnswered) {
  {
    VerdictJournal journal = open(0);
    for (const char* digest : {"a", "b", "c"}) EXPECT_FALSE(journal.ask(digest));
    journal.add("a", took(1));
    journal.add("c on another machine", took(1), "c");
  }
  for (int stop = 0; stop < 2; ++stop) open(0);  // over further stops
  VerdictJournal journal = open(0);
  EXPECT_TRUE(journal.ask("b"));
  EXPECT_FALSE(journal.ask("b"));
  EXPECT_FALSE(journal.ask("c"));
  EXPECT_FALSE(journal.ask("d"));
  EXPECT_EQ(journal.left(), 2u);
}

TEST_F(Journal, NamesALineThatIsNoVerdict) {
  for (const char* line :
       {"{}", "what", "[]", R"({"digest": "b", "verdict": {"kind": "PASS"}})", R"({"digest": 5})",
        R"({"asked": "b", "asked": "c"})", R"({"asked": [[[[[[[[[[]]]]]]]]]]})"}) {
    {
      VerdictJournal journal = open(0);
      journal.add("a", took(1));
    }
    std::ofstream(file_, std::ios::app) << line << "\n";
    try {
      open(0);
      FAIL() << line;
    } catch (const ConfigError& e) {
      EXPECT_NE(std::string(e.what()).find(file_.string() + ": line 2 is not a verdict"), std::string::npos)
          << e.what();
    }
    fs::remove(file_);
  }
}

TEST_F(Journal, AVerdictThatCannotBeWrittenIsAnError) {
  fs::create_symlink("/dev/full", file_);
  AppendFile full(file_);
  EXPECT_THROW(full.append("x"), WorldError);
}

}  // namespace
}  // namespace temper::env
