#include "trainer/run/run_directory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "trainer/config/config.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  Directory() { fs::create_directories(dir_ / "verdicts"); }
  ~Directory() override { fs::remove_all(dir_); }
  const fs::path dir_ = fs::temp_directory_path() / fmt::format("temper_directory_{}", ::getpid());
};

TEST_F(Directory, AnEarlierStartHoldsItNoMore) {
  const RunEpoch first = RunEpoch::begin(dir_);
  EXPECT_TRUE(first.hold());
  EXPECT_TRUE(RunEpoch(dir_, first.text()).hold());  // of another rank of that start
  const RunEpoch second = RunEpoch::begin(dir_);
  EXPECT_TRUE(second.hold());
  EXPECT_TRUE(second.text().starts_with("2 "));
  try {
    first.hold();
    FAIL();
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("was started again (start 2): this process is of start 1"));
  }
}

TEST_F(Directory, AFolderThatWasMadeAnewIsAnothers) {
  const RunEpoch first = RunEpoch::begin(dir_);
  fs::remove_all(dir_);
  EXPECT_THROW(first.hold(), WorldError);
  fs::create_directories(dir_);
  RunEpoch::begin(dir_);
  EXPECT_THROW(first.hold(), WorldError);
}

TEST_F(Directory, ANewStartWaitsForAWriteThatIsGoingOn) {
  const RunEpoch first = RunEpoch::begin(dir_);
  auto held = first.hold();
  auto again = first.hold();  // of another thread
  std::atomic<bool> over = false;
  std::thread writing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    held.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    over = true;
    again.reset();
  });
  RunEpoch::begin(dir_);
  EXPECT_TRUE(over);
  writing.join();
}

TEST_F(Directory, HasOneOwner) {
  {
    const RunLock lock(dir_);
    EXPECT_THROW(RunLock::check(dir_), ConfigError);
    EXPECT_THROW(RunLock second(dir_), ConfigError);
  }
  RunLock::check(dir_);
}

// A line that a kill cut short must not take the next rank's first one with it.
TEST_F(Directory, JournalsOfMoreRanksAreJoinedLineByLine) {
  write_file(journal_path(dir_, 0), "a\nb\ncut sho");
  write_file(journal_path(dir_, 1), "c\nd\n");
  EXPECT_EQ(share_journals(dir_, dir_, {0, 0}, 1), std::vector<uint64_t>{0});
  EXPECT_EQ(read_file(journal_path(dir_, 0).string() + ".replay"), "a\nb\nc\nd\n");
}

class Journals : public Directory {
 protected:
  Journals() { begin(); }

  // Of two ranks.
  void begin() {
    fs::remove_all(dir_ / "verdicts");
    fs::create_directories(dir_ / "verdicts");
    write_file(journal_path(dir_, 0), "a\nlonger\n");
    write_file(journal_path(dir_, 1), "some\nb\n");
  }

  std::vector<uint64_t> share(int ranks) { return share_journals(dir_, dir_, known_, ranks); }

  // Whole lines are known, and no line is lost to any of the ranks.
  void expect_all_kept(const std::vector<uint64_t>& known) {
    for (size_t rank = 0; rank < known.size(); ++rank) {
      const fs::path path = journal_path(dir_, int(rank));
      const std::string text = fs::exists(path) ? read_file(path) : "";
      const std::string all = "\n" + text + read_file(path.string() + ".replay");
      for (const char* line : {"\na\n", "\nlonger\n", "\nsome\n", "\nb\n"})
        EXPECT_THAT(all, testing::HasSubstr(line)) << "rank " << rank;
      ASSERT_LE(known[rank], text.size());
      EXPECT_TRUE(known[rank] == 0 || text[known[rank] - 1] == '\n')
          << "rank " << rank << " knows " << known[rank];
    }
  }

  const std::vector<uint64_t> known_ = {2, 5};  // to the checkpoint
};

// The checkpoint still speaks of the journals of two ranks.
TEST_F(Journals, AreSharedAgainBeforeTheNextCheckpoint) {
  for (const int ranks : {3, 3, 4, 1, 3}) expect_all_kept(share(ranks));
}

TEST_F(Journals, AreKeptWhereverTheirSharingIsCutShort) {
  for (const int ranks : {1, 3})
    for (int calls = 0; calls < 50; ++calls) {
      int call = 0;
      begin();
      watch_file_calls([&](const char*, const fs::path&) {
        if (call++ == calls) throw WorldError("cut short");
      });
      try {
        share(ranks);
        calls = 50;
      } catch (const WorldError&) {
      }
      watch_file_calls({});
      expect_all_kept(share(ranks));
    }
}

TEST_F(Directory, ANoteOfItsEndThatIsDamagedIsNone) {
  const RunConfig config = read_config("", {"run.dir=" + dir_.string(), "run.steps=7"});
  fs::create_directories(dir_ / "checkpoints");
  write_file(dir_ / "config.yaml", to_yaml(config));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& text :
       {std::string(R"({"step": [7], "seconds": 1})"), std::string(R"({"step": 1e300, "seconds": 1})"),
        std::string(R"({"step": 7, "seconds": "1"})"), std::string("{"), R"({"step": )" + deep + "}"}) {
    write_file(dir_ / "finished.json", text);
    EXPECT_EQ(find_start(config).kind, RunStart::Kind::kAgain) << text.substr(0, 80);
  }
  write_file(dir_ / "finished.json", R"({"step": 7, "seconds": 1})");
  EXPECT_THROW(find_start(config), RunIsComplete);
}

}  // namespace
}  // namespace temper::trainer
