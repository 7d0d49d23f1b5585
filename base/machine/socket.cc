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
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/machine/messages.h"
#include "base/machine/secret.h"

namespace temper {
namespace {

constexpr double kTryFor_s = 2;  // one address, before the next is tried
constexpr auto kRetry = std::chrono::milliseconds(50);
constexpr auto kHelloWithin = std::chrono::milliseconds(2000);
constexpr size_t kMostArriving = 256;     // connections that have proved nothing yet
constexpr uint32_t kMostHello = 1 << 10;  // bytes

std::string g_listen_host;

// What both sides of a connection must know.
std::string key_of(const std::string& token) { return proof_of(job_secret().text, token); }

std::string clients_proof(const std::string& token, const std::string& theirs, const std::string& ours,
                          int rank) {
  return proof_of(key_of(token), fmt::format("client {} {} {}", theirs, ours, rank));
}

std::string listeners_proof(const std::string& token, const std::string& ours, const std::string& theirs) {
  return proof_of(key_of(token), fmt::format("listener {} {}", ours, theirs));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& host, int port, int type) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = type;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

std::string numeric_host(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST] = "";
  if (::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

// Of this host whoever reads it.
bool means_loopback(const std::string& host) { return host == "localhost" || is_loopback(host); }

// Port 0: the system chooses. None where the address is not this host's.
Fd bound_socket(const sockaddr* address, socklen_t size, int family) {
  Fd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (socket) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket && ::bind(socket.get(), address, size) == 0 && ::listen(socket.get(), SOMAXCONN) == 0)
    return socket;
  if (errno == EADDRNOTAVAIL) return {};
  throw system_error("listen for other ranks");
}

Fd listen_anywhere() {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  return bound_socket(reinterpret_cast<sockaddr*>(&any), sizeof any, AF_INET);
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
  const Addresses found = resolve(host, port, SOCK_STREAM);
  for (const addrinfo* it = found.get(); it; it = it->ai_next) {
    const double limit = std::min(until_s, now_s() + kTryFor_s);
    if (Fd socket = connect_once(it->ai_addr, it->ai_addrlen, it->ai_family, limit)) return socket;
  }
  return {};
}

}  // namespace

std::string to_text(const Address& address) {
  return nlohmann::json{{"hosts", address.hosts}, {"port", address.port}, {"token", address.token}}.dump();
}

Address address_from(const std::string& text) try {
  const auto json = nlohmann::json::parse(text);
  return {json.at("hosts"), json.at("port"), json.at("token")};
} catch (const nlohmann::json::exception&) {
  throw WorldError("{} bytes that should be the address of a rank are none", text.size());
}

void listen_only_at(const std::string& host) { g_listen_host = host; }

std::string own_address_towards(const std::string& host, int port) {
  const Addresses found = resolve(host, port, SOCK_DGRAM);
  for (const addrinfo* it = found.get(); it; it = it->ai_next) {
    const Fd socket(::socket(it->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));  // nothing is sent
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (!socket || ::connect(socket.get(), it->ai_addr, it->ai_addrlen) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
      continue;
    const std::string text = numeric_host(reinterpret_cast<sockaddr*>(&own), size);
    return is_loopback(text) && !means_loopback(host) ? "" : text;
  }
  return "";
}

std::pair<Fd, std::string> listen_at(const std::string& host, int port) {
  const Addresses found = resolve(host, port, SOCK_STREAM);
  for (const addrinfo* it = found.get(); it; it = it->ai_next) {
    const std::string text = numeric_host(it->ai_addr, it->ai_addrlen);
    if (is_loopback(text) && !means_loopback(host)) continue;
    if (Fd socket = bound_socket(it->ai_addr, it->ai_addrlen, it->ai_family))
      return {std::move(socket), text};
  }
  return {};
}

Listener::Listener(double hello_within_s)
    : hello_within_s_(hello_within_s), host_(g_listen_host), token_("temper-" + random_text()) {
  if (!host_.empty()) socket_ = listen_at(host_, 0).first;
  if (!socket_) socket_ = listen_anywhere(), host_.clear();
}

Address Listener::address() const {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    throw system_error("read the port of a socket");
  const int port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                                     : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
  Address address{{}, port, token_};
  if (!host_.empty()) {
    address.hosts.push_back(host_);
    return address;
  }
  own_addresses(false, address.hosts);
  own_addresses(true, address.hosts);
  return address;
}

void Listener::let_in() {
  Fd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return;
  if (arriving_.size() >= kMostArriving) arriving_.erase(arriving_.begin());
  arriving_.push_back(
      {std::move(socket), MessageReader(kMostHello), random_text(), now_s() + hello_within_s_});
  Arriving& one = arriving_.back();
  send_at_once(one.socket.get());
  one.over = !send_message(one.socket.get(), one.nonce);
}

// Which rank it has proved to be: "RANK NONCE PROOF".
std::optional<int> Listener::hear(Arriving& one) const {
  const auto [messages, gone] = one.reader.read(one.socket.get());
  one.over = gone || !messages.empty();
  if (messages.empty()) return std::nullopt;
  std::istringstream words(messages[0]);
  int rank = -1;
  std::string nonce, proof;
  if (!(words >> rank >> nonce >> proof) || rank < 0) return std::nullopt;
  if (!equal_proofs(proof, clients_proof(token_, one.nonce, nonce, rank))) return std::nullopt;
  if (!send_message(one.socket.get(), listeners_proof(token_, one.nonce, nonce))) return std::nullopt;
  return rank;
}

std::optional<std::pair<int, Fd>> Listener::accept(double until_s) {
  do {
    std::vector<pollfd> polled{{socket_.get(), POLLIN, 0}};
    double soonest_s = until_s;
    for (const Arriving& one : arriving_) {
      polled.push_back({one.socket.get(), POLLIN, 0});
      soonest_s = std::min(soonest_s, one.until_s);
    }
    ::poll(polled.data(), polled.size(), milliseconds_until(soonest_s));
    for (size_t i = 0; i < arriving_.size(); ++i) {
      Arriving& one = arriving_[i];
      const auto rank = polled[i + 1].revents != 0 ? hear(one) : std::nullopt;
      if (!rank) continue;
      std::pair<int, Fd> arrived{*rank, std::move(one.socket)};
      arriving_.erase(arriving_.begin() + int64_t(i));
      return arrived;
    }
    std::erase_if(arriving_, [](const Arriving& one) { return one.over || now_s() > one.until_s; });
    if (polled[0].revents != 0) let_in();
  } while (now_s() < until_s);
  return std::nullopt;
}

namespace {

// Proves this rank to the listener, and has it prove itself.
bool introduce(const Fd& socket, const std::string& token, int rank) {
  const auto nonce = receive_message(socket.get(), kHelloWithin);
  if (!nonce) return false;
  const std::string own = random_text();
  if (!send_message(socket.get(),
                    fmt::format("{} {} {}", rank, own, clients_proof(token, *nonce, own, rank))))
    return false;
  const auto proof = receive_message(socket.get(), kHelloWithin);
  return proof && equal_proofs(*proof, listeners_proof(token, *nonce, own));
}

}  // namespace

Fd connect_to(const Address& address, int rank, double until_s) {
  while (now_s() < until_s) {
    for (const std::string& host : address.hosts) {
      Fd socket = connect_host(host, address.port, until_s);
      if (socket && introduce(socket, address.token, rank)) return socket;
    }
    std::this_thread::sleep_for(kRetry);
  }
  return {};
}

bool answers(const std::string& host, int port, double until_s) {
  for (; now_s() < until_s && !interrupted(); std::this_thread::sleep_for(kRetry))
    if (connect_host(host, port, until_s)) return true;
  return false;
}

}  // namespace temper
