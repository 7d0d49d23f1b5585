// Lanes whose brokers die, hang, lie or were replaced. What a broker does is written in the candidates' text:
// tests/env/judge/stub_broker.py.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/process.h"
#include "env/judge/judge.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

class Lanes : public testing::Test {
 protected:
  Lanes() {
    fs::create_directory(folder_);
    fs::copy_file(fs::path(TEMPER_SOURCE_DIR) / "tests/env/judge/stub_broker.py", broker_);
    start_with("");
    ::setenv("STUB_BROKER", (folder_ / "start").c_str(), 1);
  }
  ~Lanes() override {
    forget_interrupt();
    fs::remove_all(folder_);
  }

  // What brokers do that are started from now on.
  void start_with(const std::string& words) { std::ofstream(folder_ / "start") << words; }

  JudgeOptions options(int64_t lanes = 1) const {
    JudgeOptions options;
    options.lanes = lanes;
    options.broker = broker_;
    options.restart_s = 0.02;
    options.patience_s = kPatience_s;
    options.compile_timeout_s = options.run_timeout_s = 0.1;
    return options;
  }
  // Of one who takes a stopped broker for hung after a while, and one that answers for living.
  JudgeOptions impatient() const {
    JudgeOptions soon = options();
    soon.patience_s = 2 * kPatience;
    return soon;
  }
  static std::vector<Task> tasks() {
    return parse_tasks(
        "{name: t, reference: 2 * x, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 5}], timed: {n: 99}}",
        "lanes_test");
  }
  // `number` makes it another candidate.
  static std::string asks(const std::string& what, int number = 0) {
    return fmt::format("extern \"C\" void kernel{}; // {}", number, what);
  }
  // All that was submitted, by ticket.
  static std::map<Ticket, Verdict> all_of(Judge& judge) {
    std::map<Ticket, Verdict> verdicts;
    const double until = now_s() + kPatience_s;
    while (judge.pending() > 0 && now_s() < until)
      for (auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(50))) verdicts[ticket] = verdict;
    EXPECT_EQ(judge.pending(), 0u);
    return verdicts;
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("lanes_test_{}", ::getpid());
  const fs::path broker_ = folder_ / "broker";
};

TEST_F(Lanes, ABrokerThatDiesIsStartedAgain) {
  Judge judge(options(), tasks());
  const Ticket dies = judge.submit("t", asks("die")), passes = judge.submit("t", asks("pass"));
  auto verdicts = all_of(judge);
  EXPECT_TRUE(verdicts[dies].infra());
  EXPECT_NE(verdicts[dies].reason.find("ended with code 7"), std::string::npos) << verdicts[dies].reason;
  EXPECT_TRUE(verdicts[passes].pass()) << verdicts[passes].reason;
  EXPECT_EQ(judge.stats().restarts, 2);  // it was tried twice
}

// What a lane held, what waits and what comes is answered at once, and then the run ends with its words.
TEST_F(Lanes, ALaneThatCannotBeStartedAgainEndsTheRunWithItsWords) {
  JudgeOptions slowly = options();
  slowly.restart_s = 0.1;
  Judge judge(slowly, tasks());
  start_with("fail the GPU has fallen off the bus");
  judge.submit("t", asks("die"));
  for (int i = 0; i < 3; ++i) judge.submit("t", asks("pass", i));
  const double start = now_s();
  int answered = 0;
  std::string end;
  try {
    while (now_s() - start < kPatience_s) {
      for (const auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(50))) {
        EXPECT_TRUE(verdict.infra());
        // Those that come while it is dead are not kept waiting until it is given up.
        if (++answered == 4) judge.submit("t", asks("pass", 9));
      }
    }
  } catch (const WorldError& e) {
    end = e.what();
  }
  EXPECT_EQ(answered, 5);
  EXPECT_NE(end.find("no judge is left: the GPU has fallen off the bus"), std::string::npos) << end;
  EXPECT_GT(now_s() - start, 0.1 * (1 + 2 + 4));  // it was given time
}

TEST_F(Lanes, AProgramThatIsGoneOrReplacedIsNamed) {
  for (const bool gone : {true, false}) {
    start_with("");
    Judge judge(options(), tasks());
    if (gone)
      fs::rename(broker_, folder_ / "away");
    else
      start_with("machine another");
    std::string end;
    try {
      const double start = now_s();
      for (int i = 0; now_s() - start < kPatience_s; ++i) {
        judge.submit("t", asks("die", i));
        all_of(judge);
      }
    } catch (const WorldError& e) {
      end = e.what();
    }
    EXPECT_NE(end.find(gone ? "cannot start " + broker_.string() : "judges otherwise: another, and not stub"),
              std::string::npos)
        << end;
    if (gone) fs::rename(folder_ / "away", broker_);
  }
}

TEST_F(Lanes, AStoppedBrokerIsEndedAtItsDeadline) {
  Judge judge(impatient(), tasks());
  const Ticket stops = judge.submit("t", asks("stop")), passes = judge.submit("t", asks("pass"));
  auto verdicts = all_of(judge);
  EXPECT_NE(verdicts[stops].reason.find("does not answer"), std::string::npos) << verdicts[stops].reason;
  EXPECT_TRUE(verdicts[passes].pass());
}

TEST_F(Lanes, WhoWaitsForAnotherProcessIsNotOverdue) {
  Judge judge(impatient(), tasks());
  const std::string tenths =
      std::to_string(int(60 * kPatience));  // of a second: nearly three times its patience
  EXPECT_TRUE(judge.judge("t", asks("waits " + tenths)).pass());
  EXPECT_EQ(judge.stats().restarts, 0);
}

TEST_F(Lanes, NothingIsWaitedForThatABrokerHasNotReadOrNotSaid) {
  {
    std::vector<Task> many(3000, tasks()[0]);  // more than a socket takes at once
    for (size_t i = 1; i < many.size(); ++i) many[i].name += std::to_string(i);
    Judge judge(options(), many);
    start_with("deaf");
    judge.submit("t", asks("die"));
    const auto polled = [&] { return judge.poll(std::chrono::milliseconds(10)); };
    EXPECT_TRUE(comes_true([&] { return polled(), judge.stats().restarts == 1; }));
    for (int i = 0; i < 20; ++i) polled();  // while it is being started again, and reads nothing
    EXPECT_EQ(judge.stats().restarts, 1);
  }
  start_with("");
  Judge judge(options(), tasks());
  const fs::path rest = folder_ / "rest";
  judge.submit("t", asks("half " + rest.string()));
  std::vector<Judged> judged;
  const auto polled = [&] { return judged = judge.poll(std::chrono::milliseconds(10)), !judged.empty(); };
  EXPECT_TRUE(comes_true([&] { return polled() || fs::exists(rest.string() + ".begun"); }));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(polled());
  std::ofstream(rest).close();
  EXPECT_TRUE(comes_true(polled));
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_TRUE(judged[0].verdict.pass()) << judged[0].verdict.reason;
}

TEST_F(Lanes, NonsenseEndsTheBrokerAndNotTheRun) {
  Judge judge(options(), tasks());
  const Verdict nonsense = judge.judge("t", asks("nonsense"));
  EXPECT_TRUE(nonsense.infra());
  EXPECT_NE(nonsense.reason.find("sent a message that cannot be read"), std::string::npos) << nonsense.reason;
  const int64_t restarts = judge.stats().restarts;
  EXPECT_EQ(restarts, 2);
  const Verdict infinite = judge.judge("t", asks("infinite"));
  EXPECT_TRUE(infinite.infra());
  EXPECT_NE(infinite.reason.find("a verdict that cannot be"), std::string::npos) << infinite.reason;
  EXPECT_EQ(judge.stats().restarts, restarts) << "the broker is not to blame";
  EXPECT_TRUE(judge.judge("t", asks("pass")).pass());
}

TEST_F(Lanes, WhereNothingCanBeJudgedTheRunEnds) {
  Judge judge(options(2), tasks());
  std::string end;
  int judged = 0;
  try {
    for (; judged < 200; ++judged) {
      EXPECT_TRUE(judge.judge("t", asks("infra", judged)).infra());
      if (judged == 40) judge.judge("t", asks("pass"));  // begins the count again
    }
  } catch (const WorldError& e) {
    end = e.what();
  }
  EXPECT_GT(judged, 41 + 50);
  EXPECT_NE(end.find("could be judged: the runner does not start"), std::string::npos) << end;
}

// Neither is it asked again, nor does it count as a judge that does not work.
TEST_F(Lanes, AProblemThatCannotBeJudgedIsNobodysFault) {
  std::vector<Task> many(3, tasks()[0]);
  for (size_t i = 1; i < many.size(); ++i) many[i].name += std::to_string(i);
  Judge judge(options(2), many);
  const fs::path asked = folder_ / "asked";
  for (int i = 0; i < 90; ++i)
    EXPECT_TRUE(judge.judge(many[size_t(i) % 3].name, asks("unusable " + asked.string(), i)).unusable());
  EXPECT_EQ(fs::file_size(asked), 90 * std::string("asked\n").size());
}

TEST_F(Lanes, SignalsAreAnsweredWhileAJudgeStartsAndJudges) {
  Judge judge(options(), tasks());
  const auto said = [](const std::function<void()>& waits) -> std::string {
    try {
      waits();
    } catch (const WorldError& e) {
      return e.what();
    }
    return "";
  };
  interrupt();
  EXPECT_EQ(said([&] { judge.judge("t", asks("half " + (folder_ / "never").string())); }),
            "interrupted before there was a verdict");
  start_with("deaf");
  EXPECT_EQ(said([&] { Judge(options(), tasks()); }), "interrupted while the judge started");
}

}  // namespace
}  // namespace temper::env
