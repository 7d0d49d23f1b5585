#include "base/machine/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "tests/patience.h"

namespace temper {
namespace {

class Meeting : public testing::Test {
 protected:
  Meeting() { ::setenv("TEMPER_SECRET", "of this test", 1); }

  // A connection that has proved nothing.
  static Fd stranger(const Address& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(uint16_t(address.port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return socket;
  }
};

TEST_F(Meeting, WhoKnowsTheTokenComesIn) {
  Listener listener;
  Fd connected;
  std::thread connecting([&] { connected = connect_to(listener.address(), 7, now_s() + kPatience_s); });
  const auto arrived = listener.accept(now_s() + kPatience_s);
  connecting.join();
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->first, 7);
  ASSERT_TRUE(connected);
  EXPECT_TRUE(send_message(connected.get(), "hello"));
  EXPECT_EQ(receive_message(arrived->second.get()), "hello");
}

TEST_F(Meeting, AnotherTokenDoesNot) {
  Listener listener;
  Address wrong = listener.address();
  wrong.token += "x";
  Fd connected;
  std::thread connecting([&] { connected = connect_to(wrong, 0, now_s() + 0.5); });
  EXPECT_FALSE(listener.accept(now_s() + 1));
  connecting.join();
  EXPECT_FALSE(connected);
}

TEST_F(Meeting, SilentAndNoisyStrangersHoldNobodyUp) {
  Listener listener(kNever_s);
  std::vector<Fd> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(stranger(listener.address()));
  for (const char* text : {"", "1", "99999999999999999999 a b", "-1 a b", "0 0 0", "temper"}) {
    strangers.push_back(stranger(listener.address()));
    send_message(strangers.back().get(), text);
  }
  strangers.push_back(stranger(listener.address()));
  const std::string garbage(1 << 16, '\xff');  // a message of 4 GiB, as it says
  EXPECT_GT(::send(strangers.back().get(), garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT), 0);
  std::thread connecting([&] { EXPECT_TRUE(connect_to(listener.address(), 3, now_s() + kPatience_s)); });
  const auto arrived = listener.accept(now_s() + kPatience_s);
  connecting.join();
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->first, 3);
}

TEST_F(Meeting, ListensOnlyWhereItIsTold) {
  EXPECT_GT(Listener().address().hosts.size(), 0u);
  listen_only_at("127.0.0.1");
  const Listener listener;
  listen_only_at("");
  EXPECT_EQ(listener.address().hosts, std::vector<std::string>{"127.0.0.1"});
}

TEST_F(Meeting, OwnAddresses) {
  EXPECT_EQ(own_address_towards("127.0.0.1", 1234), "127.0.0.1");
  EXPECT_EQ(own_address_towards("no.such.host.invalid", 1234), "");
  EXPECT_FALSE(listen_at("192.0.2.1", 0).first);  // an address of documents, which no host has
  EXPECT_EQ(listen_at("127.0.0.1", 0).second, "127.0.0.1");
}

TEST_F(Meeting, AnAddressThatIsNoneIsSaid) {
  for (const char* text : {"", "{}", "[1]", R"({"hosts": 1, "port": "x", "token": 2})"})
    EXPECT_THROW(address_from(text), WorldError) << text;
}

}  // namespace
}  // namespace temper
