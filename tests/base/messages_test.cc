#include "base/machine/messages.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "tests/patience.h"

namespace temper {
namespace {

using std::chrono::milliseconds;

struct Pair {
  Pair() {
    int fds[2];
    TEMPER_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    a = Fd(fds[0]), b = Fd(fds[1]);
  }
  Fd a, b;
};

TEST(Messages, LargeOnesPassWhole) {
  Pair pair;
  const std::string big(1 << 20, 'x');
  std::thread sender([&] {
    EXPECT_TRUE(send_message(pair.a.get(), big));
    EXPECT_TRUE(send_message(pair.a.get(), ""));
  });
  EXPECT_EQ(receive_message(pair.b.get()), big);
  EXPECT_EQ(receive_message(pair.b.get()), "");
  sender.join();
}

TEST(Messages, SilenceAndDeathGiveNothing) {
  Pair pair;
  EXPECT_EQ(receive_message(pair.b.get(), milliseconds(20)), std::nullopt);
  pair.a = Fd();
  EXPECT_EQ(receive_message(pair.b.get()), std::nullopt);
  EXPECT_FALSE(send_message(pair.b.get(), "x"));
}

TEST(Messages, AnAbsurdLengthIsRefused) {
  Pair pair;
  const uint32_t size = 0xFFFFFFFF;
  ASSERT_EQ(::send(pair.a.get(), &size, sizeof size, 0), ssize_t(sizeof size));
  EXPECT_EQ(receive_message(pair.b.get()), std::nullopt);  // and does not wait for so much
}

using Texts = std::vector<std::string>;

void send_bytes(const Fd& socket, const std::string& bytes) {
  ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
}

TEST(MessageReader, TakesWhatHasArrivedAndWaitsForNothing) {
  Pair pair;
  MessageReader reader;
  EXPECT_EQ(reader.read(pair.b.get()).messages, Texts{});
  ASSERT_TRUE(send_message(pair.a.get(), "one") && send_message(pair.a.get(), ""));
  EXPECT_EQ(reader.read(pair.b.get()).messages, (Texts{"one", ""}));
}

TEST(MessageReader, AHalfMessageIsNeitherAMessageNorAnEnd) {
  Pair pair;
  MessageReader reader;
  const std::string wire = {3, 0, 0, 0, 'o', 'n', 'e', 3, 0};
  for (const char byte : wire.substr(0, 6)) {
    send_bytes(pair.a, {byte});
    const auto [messages, gone] = reader.read(pair.b.get());
    EXPECT_TRUE(messages.empty() && !gone);
  }
  send_bytes(pair.a, wire.substr(6));
  EXPECT_EQ(reader.read(pair.b.get()).messages, Texts{"one"});
  send_bytes(pair.a, std::string{0, 0, 't', 'w', 'o'});
  EXPECT_EQ(reader.read(pair.b.get()).messages, Texts{"two"});
}

TEST(MessageReader, LargeOnesArriveInParts) {
  Pair pair;
  const std::string big(1 << 20, 'x');
  std::thread sender([&] { EXPECT_TRUE(send_message(pair.a.get(), big)); });
  MessageReader reader;
  Texts messages;
  while (messages.empty()) {
    pollfd one{pair.b.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&one, 1, int(kPatience_ms.count())), 1);
    messages = reader.read(pair.b.get()).messages;
  }
  sender.join();
  EXPECT_TRUE(messages == Texts{big});
}

TEST(MessageReader, TheEndComesAfterTheLastWords) {
  Pair pair;
  MessageReader reader;
  ASSERT_TRUE(send_message(pair.a.get(), "last"));
  pair.a = Fd();
  EXPECT_EQ(reader.read(pair.b.get()).messages, Texts{"last"});
  EXPECT_TRUE(reader.read(pair.b.get()).gone);
}

TEST(MessageReader, AnAbsurdLengthIsAnEnd) {
  Pair pair;
  MessageReader reader;
  ASSERT_TRUE(send_message(pair.a.get(), "one"));
  send_bytes(pair.a, "\xff\xff\xff\xff");
  const auto [messages, gone] = reader.read(pair.b.get());
  EXPECT_EQ(messages, Texts{"one"});
  EXPECT_TRUE(gone);
}

TEST(Messages, AnInterruptEndsTheWaitForTheRest) {
  Pair pair;
  ASSERT_EQ(::send(pair.a.get(), "\x09\0\0\0half", 8, 0), 8);
  interrupt();
  EXPECT_EQ(receive_message(pair.b.get()), std::nullopt);  // which never comes
  forget_interrupt();
}

TEST(MessageWriter, WaitsForNobodyAndLosesNothing) {
  Pair pair;
  MessageWriter writer;
  Texts sent;
  for (int i = 0; i < 5; ++i) {
    sent.push_back(std::string(size_t(i) * 700'000, char('a' + i)));
    ASSERT_TRUE(writer.add(sent.back()));
  }
  EXPECT_TRUE(writer.send(pair.a.get()));  // though nobody reads
  EXPECT_GT(writer.left(), 1'000'000u);
  MessageReader reader;
  Texts heard;
  for (const double start = now_s(); heard.size() < sent.size() && now_s() - start < kPatience_s;) {
    for (std::string& message : reader.read(pair.b.get()).messages) heard.push_back(std::move(message));
    ASSERT_TRUE(writer.send(pair.a.get()));
  }
  EXPECT_TRUE(heard == sent);
  EXPECT_EQ(writer.left(), 0u);
  EXPECT_FALSE(writer.add(std::string((64u << 20) + 1, 'x')));
  pair.b = Fd();
  ASSERT_TRUE(writer.add("x"));
  EXPECT_FALSE(writer.send(pair.a.get()));
}

}  // namespace
}  // namespace temper
