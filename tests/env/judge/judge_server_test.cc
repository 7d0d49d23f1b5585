#include "env/judge/judge_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/machine/socket.h"
#include "env/judge/judge_backend.h"
#include "tests/env/small_tasks.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

std::vector<Task> one_task() { return small_tasks({{"doubled", "x + x"}}); }

const std::string kRight =
    "extern \"C\" void kernel(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i] + "
    "x[i]; }\n";

class Serving : public testing::Test {
 protected:
  Serving() {
    ::setenv("TEMPER_SECRET", "of this test", 1);
    serving_ = std::thread([this] { server_.serve([this] { return over_.load(); }); });
  }
  ~Serving() override {
    over_ = true;
    serving_.join();
  }

  // A client that keeps to nothing.
  Fd stranger() {
    Fd socket = connect_to(address_from(server_.address()), 0, now_s() + kPatience_s);
    EXPECT_TRUE(socket);
    EXPECT_TRUE(receive_message(socket.get(), kPatience_ms));  // the greeting
    return socket;
  }

  // Whether the server closes it, and does not go on to say that it lives.
  static bool is_closed(const Fd& socket) {
    const double until_s = now_s() + kPatience_s;
    while (receive_message(socket.get(), kPatience_ms)) {
      if (now_s() > until_s) return false;
    }
    return true;
  }

  Judge judge_{{.min_pairs = 5, .max_pairs = 5}, one_task()};
  JudgeServer server_{judge_};
  std::atomic<bool> over_ = false;
  std::thread serving_;
};

TEST_F(Serving, AClientThatSendsNoOrderIsLetGoAndTheOthersStay) {
  Judge client({.servers = {server_.address()}}, one_task());
  for (const char* order : {"", "x", "\n", "1\n", "1 \nint", "1 x\nint", "1 99999999999999999999999\nint",
                            "1 1\nint", "1 -1\nint", "0 0 0\nint", "\n 0", "{\"kind\": \"status\"}"}) {
    const Fd socket = stranger();
    ASSERT_TRUE(send_message(socket.get(), order));
    EXPECT_TRUE(is_closed(socket)) << order;
  }
  EXPECT_EQ(client.judge("doubled", kRight).kind, VerdictKind::kPass);
}

// A server that answers as it is told.
void serve_once(Listener& listener, const std::string& hello, const std::string& answer) {
  auto arrived = listener.accept(now_s() + kPatience_s);
  ASSERT_TRUE(arrived);
  send_message(arrived->second.get(), hello);
  if (!receive_message(arrived->second.get(), kPatience_ms)) return;
  send_message(arrived->second.get(), answer);
  receive_message(arrived->second.get(), kPatience_ms);
}

TEST(Served, AServerThatAnswersNonsenseIsGivenUp) {
  ::setenv("TEMPER_SECRET", "of this test", 1);
  const std::vector<Task> tasks = one_task();
  const std::string hello =
      to_text(JudgeHello{"S2", {{tasks[0].language, "a machine"}}, {}, list_digest(tasks), 1});
  for (const char* answer : {"", "x", "1", "1\n{}", "1\nnull", "77\n{}", "18446744073709551616\n{}"}) {
    Listener listener;
    std::thread serving([&] { serve_once(listener, hello, answer); });
    Judge client({.servers = {temper::to_text(listener.address())}}, tasks);
    EXPECT_THROW(client.judge("doubled", kRight), WorldError) << answer;  // no judge is left
    serving.join();
  }
}

TEST(Served, AGreetingThatIsNoneIsSaid) {
  ::setenv("TEMPER_SECRET", "of this test", 1);
  for (const char* hello : {"", "x", "{}", "[]"}) {
    Listener listener;
    std::thread serving([&] { serve_once(listener, hello, ""); });
    EXPECT_THROW(Judge({.servers = {temper::to_text(listener.address())}}, one_task()), WorldError) << hello;
    serving.join();
  }
}

// Verdicts of unlike machines lie under names of their own: one's times are not another's.
TEST(Served, AVerdictIsKeptForTheMachineThatMadeIt) {
  ::setenv("TEMPER_SECRET", "of this test", 1);
  const std::vector<Task> tasks = one_task();
  const std::string cache = std::string(testing::TempDir()) + "/verdicts_by_machine.db";
  std::remove(cache.c_str());
  const auto hello = [&](const char* machine) {
    return to_text(JudgeHello{"S2", {{tasks[0].language, machine}}, {}, list_digest(tasks), 1});
  };
  const std::string answer =
      "1\n" + nlohmann::json(verdict_of(VerdictKind::kFailIncorrect, "far off")).dump();
  {  // Of two servers the first one judges, which is the fast machine.
    Listener fast, slow;
    std::thread serving_fast([&] { serve_once(fast, hello("fast"), answer); });
    std::thread serving_slow([&] { serve_once(slow, hello("slow"), answer); });
    {
      Judge client(
          {.cache = cache, .servers = {temper::to_text(fast.address()), temper::to_text(slow.address())}},
          tasks);
      EXPECT_EQ(client.judge("doubled", kRight).kind, VerdictKind::kFailIncorrect);
      EXPECT_TRUE(client.judge("doubled", kRight).cached);
    }
    serving_fast.join();
    serving_slow.join();
  }
  for (const auto& [machine, known] : {std::pair{"fast", true}, {"slow", false}}) {
    Listener listener;
    std::thread serving([&] { serve_once(listener, hello(machine), answer); });
    {
      Judge client({.cache = cache, .servers = {temper::to_text(listener.address())}}, tasks);
      EXPECT_EQ(client.judge("doubled", kRight).cached, known) << machine;
    }
    serving.join();
  }
}

}  // namespace
}  // namespace temper::env
