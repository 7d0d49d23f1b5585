#include "env/judge/judge_server.h"

#include <poll.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/machine/messages.h"
#include "base/machine/socket.h"

namespace temper::env {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeHello, level, machine, notes, tasks, width)

std::string to_text(const JudgeHello& hello) { return nlohmann::json(hello).dump(); }
JudgeHello judge_hello_from(const std::string& text) { return nlohmann::json::parse(text).get<JudgeHello>(); }

std::string list_digest(const std::vector<Task>& tasks) {
  std::string all;
  for (const Task& task : tasks) all += task.digest();
  return sha256(all);
}

namespace {

constexpr double kBeat_s = 1, kArrivals_s = 0.001;
constexpr int kIdle_ms = 50;
constexpr size_t kMostUnread_bytes = 64 << 20;
constexpr auto kBusy = std::chrono::milliseconds(2);  // with verdicts to come, new candidates wait this long

JudgeHello hello_of(const Judge& judge) {
  JudgeHello hello{judge.sandbox_level(), {}, judge.notes(), list_digest(judge.tasks()), judge.width()};
  for (const Task& task : judge.tasks())
    if (!hello.machine.contains(task.language)) hello.machine[task.language] = judge.machine(task.language);
  return hello;
}

}  // namespace

struct JudgeServer::Impl {
  struct Client {
    Fd socket;  // none: it left
    MessageReader reader = {};
    MessageWriter writer = {};
  };
  struct Asked {
    size_t client;
    std::string id;
  };

  explicit Impl(Judge& judge_in) : judge(judge_in), hello(to_text(hello_of(judge))) {}

  void serve(const std::function<bool()>& ended) {
    double beat_s = now_s();
    while (!ended()) {
      greet();
      listen(judge.pending() > 0 ? 0 : kIdle_ms);
      for (const auto& [ticket, verdict] : judge.poll(kBusy)) answer(ticket, verdict);
      if (now_s() - beat_s < kBeat_s) continue;
      beat_s = now_s();
      for (Client& client : clients) say(client, "\n");
    }
  }

  void greet() {
    auto arrived = listener.accept(now_s() + kArrivals_s);
    if (!arrived) return;
    clients.push_back({std::move(arrived->second)});
    say(clients.back(), hello);
  }

  void listen(int wait_ms) {
    std::vector<pollfd> sockets;
    for (const Client& client : clients)
      sockets.push_back({client.socket.get(), short(POLLIN | (client.writer.left() > 0 ? POLLOUT : 0)), 0});
    if (::poll(sockets.data(), sockets.size(), wait_ms) <= 0) return;
    for (size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents != 0) hear(i);
      flush(clients[i]);
    }
  }

  void hear(size_t client) {
    bool gone = false, whole = true;
    while (!gone && whole) {
      const uint64_t before = clients[client].reader.bytes();
      const auto arrived = clients[client].reader.read(clients[client].socket.get());
      for (const std::string& message : arrived.messages) whole = whole && take_in(client, message);
      gone = arrived.gone;
      if (clients[client].reader.bytes() == before) break;
    }
    if (!whole)
      fmt::print(stderr,
                 "judge: a client sent something that is not a candidate: its connection is closed\n");
    if (gone || !whole) clients[client].socket = Fd();
  }

  // False: it is no order.
  bool take_in(size_t client, const std::string& order) {
    const size_t space = order.find(' '), end = order.find('\n');
    if (end == std::string::npos || space == std::string::npos || space > end) return false;
    size_t task = 0;
    const auto [rest, error] = std::from_chars(order.data() + space + 1, order.data() + end, task);
    if (error != std::errc() || rest != order.data() + end || task >= judge.tasks().size()) return false;
    const Ticket ticket = judge.submit(judge.tasks()[task].name, order.substr(end + 1));
    asked[ticket] = {client, order.substr(0, space)};
    return true;
  }

  void answer(Ticket ticket, const Verdict& verdict) {
    const auto found = asked.find(ticket);
    if (found == asked.end()) return;
    const nlohmann::json json = verdict;
    say(clients[found->second.client],
        found->second.id + "\n" + json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    asked.erase(found);
  }

  // A client that does not read holds nobody up; one that reads nothing for very long is left.
  static void say(Client& client, const std::string& text) {
    if (!client.socket) return;
    if (!client.writer.add(text) || client.writer.left() > kMostUnread_bytes) client.socket = Fd();
    flush(client);
  }

  static void flush(Client& client) {
    if (client.socket && !client.writer.send(client.socket.get())) client.socket = Fd();
  }

  Judge& judge;
  const std::string hello;
  Listener listener;
  std::vector<Client> clients;  // those that left stay
  std::unordered_map<Ticket, Asked> asked;
};

JudgeServer::JudgeServer(Judge& judge) : impl_(std::make_unique<Impl>(judge)) {}
JudgeServer::~JudgeServer() = default;
std::string JudgeServer::address() const { return temper::to_text(impl_->listener.address()); }
void JudgeServer::serve(const std::function<bool()>& ended) { impl_->serve(ended); }

}  // namespace temper::env
