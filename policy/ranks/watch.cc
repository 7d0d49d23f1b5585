#include "policy/ranks/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/machine/messages.h"
#include "base/machine/output.h"
#include "base/machine/socket.h"
#include "base/process.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr double kBeat_s = 1;
constexpr int kTick_ms = 200;
constexpr double kLastWords_s = 1;      // time for the others to receive the end
constexpr double kBetterReason_s = 10;  // time for a better reason why a rank was lost to arrive
constexpr double kReports_s = 2.5;      // time within which every live rank has reported its calls
constexpr double kAskAgain_s = 0.5;

// A rank's identity, which is sent once.
struct Identity {
  std::string host;
  int pid = 0;
  std::string processes;  // equal where one may signal the other
};

std::string process_space() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  std::error_code ignored;
  return boot + std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

void say_on_terminal(const std::string& text) {
  std::fputs((text + "\n").c_str(), stderr);  // the reader may be gone, which is no reason to stay
}

}  // namespace

std::string rank_text(int rank, int size, const std::string& host, int pid) {
  return fmt::format("rank {} of {} (host {}, pid {})", rank, size, host, pid);
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

struct Watch::Impl {
  Impl(Communicator& ranks, const WatchOptions& options_in, double patience_s)
      : rank(ranks.rank()), size(ranks.size()), options(options_in), needed(size) {
    traces.push_back(ranks.calls());
    exchange_identities(ranks);
    connect(ranks, patience_s);
    for (Watched& one : watched) one.heard_s = one.moved_s = now_s();
    thread = std::thread([this] { run(); });
    // The phase is sent before it begins, because a rank that dies in it can send nothing afterwards.
    listen_to_phases([this] { send_all(status()); });
  }

  void exchange_identities(Communicator& ranks) {
    const Json mine = {{"host", host_name()}, {"pid", ::getpid()}, {"processes", process_space()}};
    for (const std::string& text : ranks.all_gather(mine.dump(), "meeting")) {
      const Json json = Json::parse(text);
      identities.push_back({json.at("host"), json.at("pid"), json.at("processes")});
    }
  }

  // Rank 0 to every rank, every rank to rank 0.
  void connect(Communicator& ranks, double patience_s) {
    Listener listener;
    const Address address = address_from(ranks.broadcast(temper::to_text(listener.address()), 0, "meeting"));
    const double until_s = now_s() + patience_s;
    sockets.resize(size_t(size));
    readers.resize(size_t(size));
    watched.resize(size_t(size));
    if (rank > 0) {
      sockets[0] = connect_to(address, rank, until_s);
      if (!sockets[0]) throw LostRanks("rank {} cannot reach rank 0 within {:.0f} s", rank, patience_s);
      return;
    }
    for (int connected = 1; connected < size; ++connected) {
      auto arrived = listener.accept(until_s);
      if (!arrived)
        throw LostRanks("{} of {} ranks cannot reach rank 0 within {:.0f} s", size - connected, size,
                        patience_s);
      if (arrived->first >= size || sockets[size_t(arrived->first)])
        throw LostRanks("rank {} connected twice, or is not one of {} ranks", arrived->first, size);
      sockets[size_t(arrived->first)] = std::move(arrived->second);
    }
  }

  // The thread.

  // An unexpected error in this thread ends this rank with a message, and the others notice that.
  void run() try {
    double beat_s = 0, said_s = now_s();
    while (!stopping) {
      listen();
      const double now = now_s();
      find_failed_call(now);
      tell_failure();
      if (now - beat_s >= kBeat_s) beat(), beat_s = now;
      rank == 0 ? look_at_all(now, said_s) : look_at_first(now);
    }
    send_all(status());  // the calls that it has made to its end
    send_all({{"kind", "left"}});
  } catch (const std::exception& e) {
    say_of(rank, fmt::format("cannot watch the others any more: {}", e.what()));
    ::_exit(kExitWorld);
  }

  void listen() {
    std::vector<pollfd> polled;
    for (size_t r = 0; r < sockets.size(); ++r)
      polled.push_back({sockets[r] && !watched[r].lost ? sockets[r].get() : -1, POLLIN, 0});
    if (::poll(polled.data(), polled.size(), kTick_ms) <= 0) return;
    for (size_t r = 0; r < polled.size(); ++r)
      if (polled[r].revents != 0) hear(r);
  }

  void hear(size_t from) {
    const auto [messages, gone] = readers[from].read(sockets[from].get());
    for (const std::string& message : messages) {
      try {
        obey(from, Json::parse(message));
      } catch (const std::exception&) {  // of another program, or damaged on its way
        watched[from].broken = fmt::format("sent {} bytes that are no message of a rank", message.size());
        watched[from].lost = true;
        return;
      }
    }
    if (gone) watched[from].lost = true;
  }

  void obey(size_t from, const Json& json) {
    watched[from].heard_s = now_s();
    const std::string kind = json.at("kind");
    if (kind == "status") return note(from, json);
    if (kind == "left") leave_out(from);
    if (kind == "failed" && int(from) >= needed) return do_without({int(from), json.at("text"), false});
    if (kind == "failed") return inquire({int(from), json.at("text"), false}, json.at("code"));
    if (kind == "tell calls") return send_all(told_calls());
    if (kind == "calls") return hear_calls(from, json);
    if (kind == "end") end_with(json);
  }

  void note(size_t from, const Json& json) {
    Activity activity{json.at("phase"), json.at("progress"), json.at("collective")};
    Watched& one = watched[from];
    one.calls.clear();
    for (const Json& point : json.at("calls")) one.calls.push_back({point.at(0), point.at(1), point.at(2)});
    if (activity.progress != one.activity.progress || activity.collective != one.activity.collective)
      one.moved_s = now_s();
    one.activity = std::move(activity);
    if (json.at("interrupted")) interrupt();
  }

  Json status() const {
    const Activity activity = present_activity();
    return {{"kind", "status"},
            {"phase", activity.phase},
            {"progress", activity.progress},
            {"collective", activity.collective},
            {"calls", calls()},
            {"interrupted", interrupted()}};
  }

  Json calls() const {
    Json all = Json::array();
    for (const auto& trace : followed()) {
      const CallTrace::Point point = trace->now();
      all.push_back({point.calls, point.digest, point.last});
    }
    return all;
  }

  std::vector<std::shared_ptr<const CallTrace>> followed() const {
    const std::scoped_lock lock(following);
    return traces;
  }

  Json told_calls() const {
    Json told = Json::array();
    for (const auto& trace : followed()) told.push_back(to_json(trace->history()));
    return {{"kind", "calls"}, {"histories", std::move(told)}};
  }

  void hear_calls(size_t from, const Json& json) {
    if (!inquiry) return;  // nobody asked
    std::vector<CallHistory> told;
    for (const Json& history : json.at("histories")) told.push_back(history_from(history));
    histories[from] = std::move(told);
  }

  void beat() {
    const Json mine = status();
    watched[size_t(rank)].heard_s = now_s();
    note(size_t(rank), mine);
    fail_if_asked("beat") == "garbage" ? send_text("{\"kind\": 7}") : send_all(mine);
  }

  void send_all(const Json& message) {
    send_text(message.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  void send_text(const std::string& text) {
    const std::scoped_lock lock(sending);
    for (const Fd& socket : sockets)
      if (socket) send_message(socket.get(), text);
  }

  // The main thread may wait for a device whose call has failed, and never learn of it. Another rank has the better
  // reason where it was lost.
  void find_failed_call(double now) {
    const std::string why = failed_call();
    if (why.empty()) return;
    if (failed_s < 0) failed_s = now;
    if (now - failed_s < kBetterReason_s) return;
    const std::scoped_lock lock(failing);
    if (!failure) failure = {kExitWorld, fmt::format("failed {}: {}", place_text(present_activity()), why)};
  }

  // Sends the failure that the main thread reported.
  void tell_failure() {
    const std::scoped_lock lock(failing);
    if (!failure || failure->told) return;
    failure->told = true;
    if (rank == 0) return inquire({0, failure->what, false}, failure->code);
    send_all({{"kind", "failed"}, {"code", failure->code}, {"text", failure->what}});
  }

  void look_at_all(double now, double& said_s) {
    for (Watched& one : watched) compare_calls(one, followed());
    const std::vector<Watched> others(watched.begin(), watched.begin() + needed);
    auto trouble = find_differing(others);
    if (!trouble) trouble = find_lost(others, now, options);
    if (!trouble) trouble = find_left_out(others);
    if (!trouble) trouble = find_hung(others, now, options);
    if (trouble) inquire(*trouble, kExitWorld);
    if (inquiry) return go_on_inquiring(now);
    if (trouble = find_lost(watched, now, options); trouble) do_without(*trouble);
    if (now - said_s < options.report_s) return;
    if (const std::string text = waiting_text(others, now, options); !text.empty()) {
      say_on_terminal(text);
      said_s = now;
    }
  }

  // Rank 0 is watched by all, and rank 1 speaks of it.
  void look_at_first(double now) {
    const std::vector<Watched> first(watched.begin(), watched.begin() + 1);
    auto trouble = find_lost(first, now, options);
    const bool left_out = !trouble && (trouble = find_left_out(watched));
    if (!trouble) return;
    if (rank > 1) std::this_thread::sleep_for(std::chrono::duration<double>(kLastWords_s));
    if (rank == 1 || left_out) say_of(0, trouble->what);  // rank 1 may have ended as well
    if (trouble->alive) end_process(0);
    finish_output(false);
    ::_exit(kExitWorld);
  }

  // Before the end, on rank 0. A rank that failed, hangs or was lost may be so because another one has made other
  // calls. All ranks that can answer are asked for their calls, and are waited for within limits.

  struct Inquiry {
    Trouble trouble;  // what ends the ranks if their calls do not differ
    int code;
    double begin_s, asked_s;
  };

  void inquire(Trouble trouble, int code) {
    if (inquiry) return;
    inquiry = Inquiry{std::move(trouble), code, now_s(), now_s()};
    histories.assign(size_t(size), {});
    send_all({{"kind", "tell calls"}});
  }

  void go_on_inquiring(double now) {
    const auto parting = find_parting_of_all();
    const bool late = now - inquiry->begin_s > kReports_s;
    if (parting && (parting->certain || late))
      end_all({parting->rank, parting->what, parting->rank > 0, parting->other}, kExitWorld);
    if (late || (!parting && all_told(now))) end_all(inquiry->trouble, inquiry->code);
    if (now - inquiry->asked_s < kAskAgain_s) return;
    inquiry->asked_s = now;  // who is behind comes nearer to the call where the others part
    send_all({{"kind", "tell calls"}});
  }

  bool all_told(double now) const {
    for (int r = 1; r < needed; ++r) {
      const Watched& one = watched[size_t(r)];
      const bool can = !one.lost && !one.left && now - one.heard_s < kReports_s;
      if (can && histories[size_t(r)].empty()) return false;
    }
    return true;
  }

  // In the first of the communicators where the calls differ.
  std::optional<Parting> find_parting_of_all() {
    histories[0].clear();
    for (const auto& trace : followed()) histories[0].push_back(trace->history());
    for (size_t i = 0; i < histories[0].size(); ++i) {
      std::vector<const CallHistory*> of_one(size_t(needed), nullptr);
      for (size_t r = 0; r < of_one.size(); ++r)
        if (i < histories[r].size()) of_one[r] = &histories[r][i];
      if (auto parting = find_parting(of_one)) return parting;
    }
    return std::nullopt;
  }

  // The end.

  std::string name_of(int whose) const {
    const Identity& its = identities[size_t(whose)];
    return rank_text(whose, size, its.host, its.pid);
  }

  void say_of(int whose, const std::string& what, int other = -1) const {
    const std::string both = other < 0 ? "" : "and " + name_of(other) + " ";
    say_on_terminal((whose < 0 ? "" : name_of(whose) + " ") + both + what + "; all ranks end");
  }

  // On rank 0: what is left of a spared rank must not hold up those that wait for it.
  void do_without(const Trouble& trouble) {
    say_on_terminal(name_of(trouble.rank) + " " + trouble.what + "; the others continue without it");
    leave_out(size_t(trouble.rank));
    if (trouble.alive) end_process(trouble.rank);
  }

  void leave_out(size_t whose) {
    watched[whose].left = true;
    if (whose == 0) first_left = true;
  }

  // On rank 0: prints the reason, once, and ends all ranks.
  [[noreturn]] void end_all(const Trouble& trouble, int code) {
    say_of(trouble.rank, trouble.what, trouble.other);
    const int kill = trouble.alive ? trouble.rank : -1;
    send_all({{"kind", "end"}, {"code", code}, {"kill", kill}});
    end_process(kill);
    wait_for_silence();
    finish_output(false);
    ::_exit(code);
  }

  [[noreturn]] void end_with(const Json& end) {
    end_process(end.at("kill"));
    ::_exit(end.at("code"));
  }

  // Kills a stopped or hung rank, which does not receive the message that all end.
  void end_process(int whose) const {
    if (whose < 0 || whose == rank || whose >= size) return;
    const Identity &its = identities[size_t(whose)], &mine = identities[size_t(rank)];
    if (its.processes == mine.processes) ::kill(its.pid, SIGKILL);
  }

  // Leaving at once could take the last message from those who have not read it yet.
  void wait_for_silence() {
    const double until_s = now_s() + kLastWords_s;
    for (size_t r = 0; r < sockets.size(); ++r)
      while (sockets[r] && !watched[r].lost && now_s() < until_s) {
        pollfd one{sockets[r].get(), POLLIN, 0};
        if (::poll(&one, 1, kTick_ms) > 0 && readers[r].read(one.fd).gone) break;
      }
  }

  const int rank, size;
  const WatchOptions options;
  std::vector<Identity> identities;
  std::vector<Fd> sockets;  // by rank; empty where there is no connection
  std::vector<MessageReader> readers;
  std::vector<Watched> watched;
  std::optional<Inquiry> inquiry;
  std::vector<std::vector<CallHistory>> histories;  // by rank, one for each communicator; empty: not told
  struct Failure {
    int code;
    std::string what;
    bool told = false;
  };
  std::mutex failing, sending;
  mutable std::mutex following;
  std::vector<std::shared_ptr<const CallTrace>> traces;  // the whole's, then those of its parts
  std::optional<Failure> failure;
  double failed_s = -1;     // when a failed call was found
  std::atomic<int> needed;  // the ranks from this one on are spared
  std::atomic<bool> stopping{false}, first_left{false};
  std::thread thread;
};

Watch::Watch(Communicator& ranks, const WatchOptions& options, double patience_s)
    : impl_(std::make_unique<Impl>(ranks, options, patience_s)) {}

Watch::~Watch() { leave(); }

void Watch::follow(const Communicator& part) {
  const std::scoped_lock lock(impl_->following);
  impl_->traces.push_back(part.calls());
}

void Watch::spare(int first) { impl_->needed = first; }
bool Watch::first_left() const { return impl_->first_left; }

void Watch::leave() {
  if (!impl_->thread.joinable()) return;
  listen_to_phases(nullptr);
  impl_->stopping = true;
  impl_->thread.join();
}

void Watch::fail(int code, const std::string& text, bool lost) {
  const auto wait = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  if (lost) wait(kBetterReason_s);  // the watch ends the process meanwhile
  const std::string what = fmt::format("failed {}: {}", place_text(present_activity()), text);
  {
    const std::scoped_lock lock(impl_->failing);
    impl_->failure = {code, what};
  }
  wait(kBetterReason_s);
  impl_->say_of(impl_->rank, what);
  ::_exit(code);
}

}  // namespace temper::policy
