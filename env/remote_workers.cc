#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/machine/messages.h"
#include "base/machine/socket.h"
#include "env/judge_server.h"
#include "env/workers.h"

namespace temper {
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

  double load() const { return double(at_work.size()) / double(hello.width); }
};

JudgeHello hello_from(const std::string& text, const std::string& host) try {
  return judge_hello_from(text);
} catch (const std::exception&) {
  throw WorldError("the judge at {} greets with {} bytes that are no greeting of this program", host, text.size());
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

class RemoteWorkers : public Workers {
 public:
  RemoteWorkers(const JudgeOptions& options, const std::vector<Task>& tasks) {
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
    for (const Server& server : servers_) sockets.push_back({server.socket.get(), POLLIN, 0});
    const double left_s = std::clamp(until_s - now_s(), 0.0, 1.0);
    ::poll(sockets.data(), sockets.size(), int(left_s * 1e3 + 0.999));
    for (size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents != 0) hear(servers_[i]);
      if (servers_[i].socket && now_s() - servers_[i].heard_s > kSilence_s) lose(servers_[i]);
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
      if (message.starts_with('\n')) continue;  // a sign of life
      if (take_in(server, message)) continue;
      fmt::print(stderr, "the judge at {} sent {} bytes that are no verdict: it is not asked any more\n",
                 server.host, message.size());
      return lose(server);
    }
    if (gone) lose(server);
  }

  // False if the message is no verdict of what the server was given.
  bool take_in(Server& server, const std::string& message) try {
    const size_t end = message.find('\n');
    const auto found = server.at_work.find(std::stoull(message.substr(0, end)));
    if (end == std::string::npos || found == server.at_work.end()) return false;
    const Verdict verdict = nlohmann::json::parse(message.substr(end + 1)).get<Verdict>();
    done_.push_back({found->first, verdict, machine_of(server, found->second.task)});
    server.at_work.erase(found);
    return true;
  } catch (const std::exception&) {
    return false;
  }

  size_t machine_of(const Server& server, uint32_t task) const {
    const std::string& language = languages_[task];
    const std::vector<std::string> all = machines(language);
    return size_t(std::ranges::find(all, server.hello.machine.at(language)) - all.begin());
  }

  // What it was at goes to the others, first of all.
  void lose(Server& server) {
    ++lost_;
    server.socket = Fd();
    for (auto& [id, order] : server.at_work) queue_.push_front(std::move(order));
    server.at_work.clear();
  }

  void dispatch() {
    while (!queue_.empty()) {
      Server* free = nullptr;
      for (Server& server : servers_)
        if (server.socket && (free == nullptr || server.load() < free->load())) free = &server;
      if (free == nullptr)
        throw WorldError("no judge is left: {} lost, the last at {}", lost_, servers_.back().host);
      if (free->load() >= double(kAhead)) return;
      give(*free);
    }
  }

  void give(Server& server) {
    const WorkOrder& order = queue_.front();
    const bool sent =
        send_message(server.socket.get(), fmt::format("{} {}\n", order.id, order.task) + order.source);
    if (!sent) return lose(server);
    server.at_work[order.id] = std::move(queue_.front());
    queue_.pop_front();
  }

  std::vector<std::string> languages_;  // by task
  std::vector<Server> servers_;
  std::deque<WorkOrder> queue_;
  std::vector<WorkDone> done_;
  int64_t lost_ = 0;
};

}  // namespace

std::unique_ptr<Workers> make_remote_workers(const JudgeOptions& options, const std::vector<Task>& tasks) {
  return std::make_unique<RemoteWorkers>(options, tasks);
}

}  // namespace temper
