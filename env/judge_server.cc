#include "env/judge_server.h"

#include <poll.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/machine/messages.h"
#include "base/machine/socket.h"

namespace temper {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeHello, level, machine, notes, tasks, width)

std::string to_text(const JudgeHello& hello) { return nlohmann::json(hello).dump(); }
JudgeHello judge_hello_from(const std::string& text) { return nlohmann::json::parse(text).get<JudgeHello>(); }

std::string list_digest(const std::vector<Task>& tasks) {
  std::string all;
  for (const Task& task : tasks) all += task.digest();
  return sha256(all);
}

namespace {

constexpr double kBeat_s = 1, kLook_s = 0.001;
constexpr int kIdle_ms = 50;
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
    MessageReader reader;
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
    auto arrived = listener.accept(now_s() + kLook_s);
    if (!arrived) return;
    clients.push_back({std::move(arrived->second), {}});
    say(clients.back(), hello);
  }

  void listen(int wait_ms) {
    std::vector<pollfd> sockets;
    for (const Client& client : clients) sockets.push_back({client.socket.get(), POLLIN, 0});
    if (::poll(sockets.data(), sockets.size(), wait_ms) <= 0) return;
    for (size_t i = 0; i < sockets.size(); ++i)
      if (sockets[i].revents != 0) hear(i);
  }

  void hear(size_t client) {
    const auto [messages, gone] = clients[client].reader.read(clients[client].socket.get());
    for (const std::string& message : messages) {
      if (take_in(client, message)) continue;
      fmt::print(stderr, "judge: a client sent {} bytes that are no candidate: its connection is closed\n",
                 message.size());
      clients[client].socket = Fd();
      return;
    }
    if (gone) clients[client].socket = Fd();
  }

  // False if it is no order.
  bool take_in(size_t client, const std::string& order) {
    const size_t space = order.find(' '), end = order.find('\n');
    size_t task = 0;
    if (space == std::string::npos || end == std::string::npos || end < space) return false;
    const auto [stop, error] = std::from_chars(order.data() + space + 1, order.data() + end, task);
    if (error != std::errc() || stop != order.data() + end || task >= judge.tasks().size()) return false;
    const Ticket ticket = judge.submit(judge.tasks()[task].name, order.substr(end + 1));
    asked[ticket] = {client, order.substr(0, space)};
    return true;
  }

  void answer(Ticket ticket, const Verdict& verdict) {
    const auto found = asked.find(ticket);
    const nlohmann::json json = verdict;
    say(clients[found->second.client],
        found->second.id + "\n" + json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    asked.erase(found);
  }

  static void say(Client& client, const std::string& text) {
    if (client.socket && !send_message(client.socket.get(), text)) client.socket = Fd();
  }

  Judge& judge;
  const std::string hello;
  Listener listener;
  std::vector<Client> clients;  // those that left stay
  std::unordered_map<Ticket, Asked> asked;
};

JudgeServer::JudgeServer(Judge& judge) : impl_(std::make_unique<Impl>(judge)) {}
JudgeServer::~JudgeServer() = default;
std::string JudgeServer::address() const { return to_text(impl_->listener.address()); }
void JudgeServer::serve(const std::function<bool()>& ended) { impl_->serve(ended); }

}  // namespace temper
