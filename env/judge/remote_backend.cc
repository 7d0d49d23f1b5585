#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/machine/messages.h"
#include "base/machine/socket.h"
#include "env/judge/judge_backend.h"
#include "env/judge/judge_server.h"

namespace temper::env {
namespace {

constexpr double kConnect_s = 60, kSilence_s = 20;
constexpr auto kHello = std::chrono::milliseconds(60'000);
constexpr size_t kAhead = 2;  // candidates that a server is given, for each that it works on at a time

struct Server {
  std::string host;
  Fd socket;  // none: lost
  JudgeHello hello;
  double heard_s = 0;
  std::map<uint64_t, WorkOrder> at_work = {};
  MessageReader reader = {};
  MessageWriter writer = {};

  double load() const { return double(at_work.size()) / double(hello.width); }
};

JudgeHello hello_from(const std::string& text, const std::string& host) try {
  return judge_hello_from(text);
} catch (const std::exception&) {
  throw WorldError("the judge at {} greets with {} bytes that are no greeting of this program", host,
                   text.size());
}

Server connect(const std::string& address, const std::string& tasks) {
  const Address place = address_from(address);
  const std::string host = fmt::format("{}:{}", place.hosts.empty() ? "?" : place.hosts[0], place.port);
  Fd socket = connect_to(place, 0, now_s() + kConnect_s);
  const auto text = socket ? receive_message(socket.get(), kHello) : std::nullopt;
  if (!text) throw WorldError("the judge at {} cannot be reached", host);
  Server server{host, std::move(socket), hello_from(*text, host), now_s()};
  if (server.hello.tasks != tasks)
    throw WorldError("the judge at {} has other tasks than this process", host);
  return server;
}

class RemoteBackend : public JudgeBackend {
 public:
  RemoteBackend(const JudgeOptions& options, const std::vector<Task>& tasks) {
    for (const Task& task : tasks) languages_.push_back(task.language);
    for (const std::string& address : options.servers)
      servers_.push_back(connect(address, list_digest(tasks)));
  }

  std::string sandbox_level() const override {
    return fmt::format("{}; {} judge{} in other processes", servers_[0].hello.level, servers_.size(),
                       servers_.size() == 1 ? "" : "s");
  }

  // Of all servers: where they differ, it is any of them.
  std::string machine(const std::string& language) const override {
    return fmt::format("{}", fmt::join(machines(language), ""));
  }

  std::vector<std::string> machines(const std::string& language) const override {
    std::set<std::string> machines;
    for (const Server& server : servers_) machines.insert(server.hello.machine.at(language));
    return {machines.begin(), machines.end()};
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    for (const Server& server : servers_)
      notes.insert(notes.end(), server.hello.notes.begin(), server.hello.notes.end());
    return notes;
  }

  int64_t width() const override {
    int64_t all = 0;
    for (const Server& server : servers_) all += server.hello.width;
    return all;
  }

  void submit(WorkOrder order) override {
    queue_.push_back(std::move(order));
    dispatch();
  }

  std::vector<WorkDone> wait(double until_s) override {
    std::vector<pollfd> sockets;
    for (const Server& server : servers_)
      sockets.push_back({server.socket.get(), short(POLLIN | (server.writer.left() > 0 ? POLLOUT : 0)), 0});
    const double left_s = std::clamp(until_s - now_s(), 0.0, 1.0);
    ::poll(sockets.data(), sockets.size(), int(left_s * 1e3 + 0.999));
    for (size_t i = 0; i < sockets.size(); ++i) {
      Server& server = servers_[i];
      if (sockets[i].revents != 0) hear(server);
      if (server.socket && !server.writer.send(server.socket.get())) lose(server, "it left");
      if (server.socket && now_s() - server.heard_s > kSilence_s)
        lose(server, fmt::format("no sign of life for {:.0f} s", kSilence_s));
    }
    dispatch();
    return std::exchange(done_, {});
  }

  int64_t restarts() const override { return lost_; }

 private:
  void hear(Server& server) {
    const auto [messages, gone] = server.reader.read(server.socket.get());
    for (const std::string& message : messages) {
      server.heard_s = now_s();
      if (const std::string error = take_in(server, message); !error.empty()) return lose(server, error);
    }
    if (gone) lose(server, "it left");
  }

  // "" or why that is no message of a judge.
  std::string take_in(Server& server, const std::string& message) {
    const size_t end = message.find('\n');
    if (end == 0) return "";  // a sign of life
    uint64_t id = 0;
    const auto [rest, error] = std::from_chars(message.data(), message.data() + message.size(), id);
    if (end == std::string::npos || error != std::errc() || rest != message.data() + end)
      return "it answers without a number";
    const auto found = server.at_work.find(id);
    if (found == server.at_work.end()) return "it answers what it was not asked";
    VerdictRead read = parse_verdict(message.substr(end + 1));
    if (!read.verdict) return "its answer is not a verdict: " + read.error;
    done_.push_back({id, std::move(*read.verdict), machine_of(server, found->second.task)});
    server.at_work.erase(found);
    return "";
  }

  size_t machine_of(const Server& server, uint32_t task) const {
    const std::string& language = languages_[task];
    const std::vector<std::string> all = machines(language);
    return size_t(std::ranges::find(all, server.hello.machine.at(language)) - all.begin());
  }

  // What it was at goes to the others, first of all.
  void lose(Server& server, const std::string& why) {
    ++lost_;
    last_loss_ = fmt::format("the judge at {}: {}", server.host, why);
    server.socket = Fd();
    for (auto& [id, order] : server.at_work) queue_.push_front(std::move(order));
    server.at_work.clear();
  }

  void dispatch() {
    while (!queue_.empty()) {
      Server* free = nullptr;
      for (Server& server : servers_)
        if (server.socket && (free == nullptr || server.load() < free->load())) free = &server;
      if (free == nullptr) throw WorldError("no judge is left: {} lost; {}", lost_, last_loss_);
      if (free->load() >= double(kAhead)) return;
      give(*free);
    }
  }

  void give(Server& server) {
    const WorkOrder& order = queue_.front();
    if (!server.writer.add(fmt::format("{} {}\n", order.id, order.task) + order.source) ||
        !server.writer.send(server.socket.get()))
      return lose(server, "it left");
    server.at_work[order.id] = std::move(queue_.front());
    queue_.pop_front();
  }

  std::vector<std::string> languages_;  // by task
  std::vector<Server> servers_;
  std::deque<WorkOrder> queue_;
  std::vector<WorkDone> done_;
  int64_t lost_ = 0;
  std::string last_loss_;
};

}  // namespace

std::unique_ptr<JudgeBackend> make_remote_backend(const JudgeOptions& options,
                                                  const std::vector<Task>& tasks) {
  return std::make_unique<RemoteBackend>(options, tasks);
}

}  // namespace temper::env
