#include "base/machine/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/machine/messages.h"

namespace temper {
namespace {

constexpr double kTryFor_s = 2;  // one address, before the next is tried
constexpr auto kRetry = std::chrono::milliseconds(50);
constexpr auto kHelloWithin = std::chrono::milliseconds(2000);

std::string random_token() {
  std::random_device device;
  return fmt::format("temper-{:08x}{:08x}", device(), device());
}

int milliseconds_until(double until_s) { return int(std::clamp((until_s - now_s()) * 1e3, 0.0, 1e6)); }

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void own_addresses(bool loopback, std::vector<std::string>& hosts) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw system_error("list the network's addresses");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* it = list; it; it = it->ifa_next) {
    if (!it->ifa_addr || it->ifa_addr->sa_family != AF_INET || !(it->ifa_flags & IFF_UP)) continue;
    if (bool(it->ifa_flags & IFF_LOOPBACK) != loopback) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(it->ifa_addr);
    if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) hosts.emplace_back(text);
  }
}

// A connection to a port of this machine that nobody listens on can end at its own beginning.
bool is_its_own_peer(int socket) {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

Fd connect_once(const sockaddr* address, socklen_t size, int family, double until_s) {
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  if (::connect(socket.get(), address, size) != 0) {
    if (errno != EINPROGRESS) return {};
    pollfd wait{socket.get(), POLLOUT, 0};
    if (::poll(&wait, 1, milliseconds_until(until_s)) <= 0) return {};
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) return {};
  }
  if (is_its_own_peer(socket.get())) return {};
  ::fcntl(socket.get(), F_SETFL, 0);
  send_at_once(socket.get());
  return socket;
}

Fd connect_host(const std::string& host, int port, double until_s) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  for (const addrinfo* it = found; it; it = it->ai_next) {
    const double limit = std::min(until_s, now_s() + kTryFor_s);
    if (Fd socket = connect_once(it->ai_addr, it->ai_addrlen, it->ai_family, limit)) return socket;
  }
  return {};
}

}  // namespace

std::string to_text(const Address& address) {
  return nlohmann::json{{"hosts", address.hosts}, {"port", address.port}, {"token", address.token}}.dump();
}

Address address_from(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {json.at("hosts"), json.at("port"), json.at("token")};
}

Listener::Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), token_(random_token()) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  if (!socket_ || ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
      ::listen(socket_.get(), SOMAXCONN) != 0)
    throw system_error("listen for other ranks");
}

Address Listener::address() const {
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    throw system_error("read the port of a socket");
  Address address{{}, ntohs(bound.sin_port), token_};
  own_addresses(false, address.hosts);
  own_addresses(true, address.hosts);
  return address;
}

std::optional<std::pair<int, Fd>> Listener::accept(double until_s) const {
  while (now_s() < until_s) {
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, milliseconds_until(until_s)) <= 0) continue;
    Fd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) continue;
    const auto hello = receive_message(socket.get(), kHelloWithin);
    const size_t space = hello ? hello->rfind(' ') : std::string::npos;
    if (space == std::string::npos || hello->substr(0, space) != token_) continue;
    send_at_once(socket.get());
    if (send_message(socket.get(), token_)) return {{std::stoi(hello->substr(space + 1)), std::move(socket)}};
  }
  return std::nullopt;
}

Fd connect_to(const Address& address, int rank, double until_s) {
  while (now_s() < until_s) {
    for (const std::string& host : address.hosts) {
      Fd socket = connect_host(host, address.port, until_s);
      if (socket && send_message(socket.get(), fmt::format("{} {}", address.token, rank)) &&
          receive_message(socket.get(), kHelloWithin) == address.token)
        return socket;
    }
    std::this_thread::sleep_for(kRetry);
  }
  return {};
}

bool answers(const std::string& host, int port, double until_s) {
  for (; now_s() < until_s; std::this_thread::sleep_for(kRetry))
    if (connect_host(host, port, until_s)) return true;
  return false;
}

}  // namespace temper
