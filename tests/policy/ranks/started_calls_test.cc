#include "policy/ranks/started_calls.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>

#include "policy/ranks/activity.h"
#include "policy/ranks/transport.h"
#include "tests/patience.h"

namespace temper::policy {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// A call whose state the test sets.
class SetCall : public StartedCall {
 public:
  State state() override {
    if (broken) throw WorldError("a link broke");
    if (given_up) throw LostRanks("given up");
    return now;
  }
  void wait_on_stream() override {}
  void give_up() override { given_up = true; }
  std::atomic<State> now{State::kQueued};
  std::atomic<bool> broken{false}, given_up{false};
};

using Call = std::shared_ptr<SetCall>;

class Started : public testing::Test {
 protected:
  ~Started() override { report_failed_call(""); }
  Call add(const char* what, double deadline_s = 600) {
    auto call = std::make_shared<SetCall>();
    calls_.add(call, "all-gather", what, deadline_s);
    return call;
  }
  StartedCalls calls_;
};

TEST_F(Started, ARankWaitsInTheOldestCallThatRuns) {
  const Call first = add("weights"), second = add("gradients");
  second->now = StartedCall::State::kRunning;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(present_activity().collective, "");  // the device has not come to the first
  first->now = StartedCall::State::kRunning;
  EXPECT_TRUE(comes_true([] { return present_activity().collective == "weights"; }));
  {
    const CollectiveWait wait("norm");  // the main thread's own goes before
    EXPECT_EQ(present_activity().collective, "norm");
  }
  const uint64_t progress = present_activity().progress;
  first->now = StartedCall::State::kDone;
  EXPECT_TRUE(comes_true([] { return present_activity().collective == "gradients"; }));
  EXPECT_GT(present_activity().progress, progress);
  second->now = StartedCall::State::kDone;
  calls_.wait_for_all();
  EXPECT_EQ(present_activity().collective, "");
  EXPECT_EQ(failed_call(), "");
}

TEST_F(Started, ACallThatRunsTooLongEndsAll) {
  const Call first = add("weights", 0.2), second = add("gradients");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(failed_call(), "");  // what waits for this rank's own work is not late
  first->now = StartedCall::State::kRunning;
  EXPECT_THAT([&] { calls_.wait_for_all(); },
              ThrowsMessage<LostRanks>(HasSubstr("the all-gather \"weights\" did not end within 0 s")));
  EXPECT_TRUE(first->given_up);
  EXPECT_TRUE(second->given_up);
  EXPECT_THAT([&] { wait_on_host(*second); }, ThrowsMessage<LostRanks>(HasSubstr("given up")));
  EXPECT_THAT([] { const CollectiveWait wait("norm"); }, ThrowsMessage<LostRanks>(HasSubstr("\"weights\"")));
}

TEST_F(Started, ABrokenCallIsNamed) {
  const Call first = add("weights"), second = add("gradients");
  first->now = StartedCall::State::kDone;
  second->broken = true;
  EXPECT_THAT([&] { calls_.wait_for_all(); },
              ThrowsMessage<LostRanks>(testing::StrEq("the all-gather \"gradients\": a link broke")));
  EXPECT_FALSE(first->given_up);
}

TEST_F(Started, TheHostWaitsForOne) {
  const Call call = add("weights");
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    call->now = StartedCall::State::kDone;
  });
  wait_on_host(*call);
  EXPECT_EQ(call->state(), StartedCall::State::kDone);
  later.join();
}

}  // namespace
}  // namespace temper::policy
