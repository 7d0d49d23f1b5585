#include "policy/ranks/rendezvous.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/machine/secret.h"
#include "base/machine/socket.h"
#include "base/process.h"
#include "policy/ranks/transport.h"

C10_DECLARE_int(caffe2_log_level);

namespace temper::policy {
namespace {

constexpr double kLinger_s = 1;
constexpr size_t kProofLength = 64;
constexpr auto kRetry = std::chrono::milliseconds(20);

// Waits for the store before libtorch does: its own waiting fills the terminal.
c10::intrusive_ptr<c10d::TCPStore> open_store(const RankPlace& place, double until_s, double patience_s) {
  FLAGS_caffe2_log_level = 3;  // what it would say, we say
  c10d::TCPStoreOptions options;
  options.port = uint16_t(place.master_port);
  options.isServer = place.rank == 0 && !place.master_listens;
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(int64_t(patience_s * 1e3));
  const std::string where = fmt::format("{}:{}", place.master_host, place.master_port);
  const bool there = options.isServer || answers(place.master_host, place.master_port, until_s);
  if (interrupted()) throw WorldError("interrupted while the ranks met");
  if (!there)
    throw WorldError("rank {} of {} could not connect to rank 0 at {} within {:.0f} s", place.rank,
                     place.size, where, patience_s);
  std::string host = place.master_host;
  try {
    listen_only_at(options.isServer ? "" : own_address_towards(host, place.master_port));
    if (options.isServer) {
      auto [socket, own] = listen_at(host, place.master_port);
      listen_only_at(own);
      if (socket) options.masterListenFd = socket.release(), host = own;  // the store's from now on
    }
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  } catch (const c10::Error& e) {
    throw WorldError("rank {} of {} cannot meet the others at {}: {}", place.rank, place.size, where,
                     e.what_without_backtrace());
  } catch (const WorldError& e) {
    throw WorldError("rank {} of {} cannot meet the others at {}: {}", place.rank, place.size, where,
                     e.what());
  }
}

std::string absent_text(const std::vector<int>& absent) {
  std::string text = absent.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < absent.size(); ++i) text += fmt::format("{} {}", i > 0 ? "," : "", absent[i]);
  return text;
}

}  // namespace

struct Rendezvous::Impl {
  RankPlace place;
  double patience_s, until_s;
  c10::intrusive_ptr<c10d::TCPStore> store;
  std::string prefix;  // a job that the launcher starts again must not read what the first one wrote

  // One rank says why; the others only hear that one did. The store is rank 0's: it leaves last.
  [[noreturn]] void give_up(int code, const std::string& why) {
    const bool first = store->add(hidden("end"), 1) == 1;
    if (first) put("code", std::to_string(code));
    if (place.rank == 0) std::this_thread::sleep_for(std::chrono::duration<double>(kLinger_s));
    if (const std::string said = text_of("code"); !first && !said.empty())
      throw SaidElsewhere(std::stoi(said));
    if (code == kExitUser) throw ConfigError("{}", why);
    throw WorldError("{}", why);
  }

  // Of those that have come.
  void check_sizes() {
    for (int rank = 0; rank < place.size; ++rank) {
      const std::string size = text_of("size/" + std::to_string(rank)), own = std::to_string(place.size);
      if (size.empty() || size == own) continue;
      const bool first = rank < place.rank;
      give_up(kExitUser, fmt::format("the ranks differ in their number: {} on rank {}, {} on rank {}",
                                     first ? size : own, first ? rank : place.rank, first ? own : size,
                                     first ? place.rank : rank));
    }
  }

  // Anyone who reaches the store can write there. Keys have names that only those who know the job's secret can tell, or a
  // stranger could write over them for as long as the ranks wait; what is not proved by the secret is not there.
  std::string hidden(const std::string& name) const {
    return prefix + proof_of(job_secret().text, "name of " + prefix + name);
  }

  static std::string proof(const std::string& key, const std::string& text) {
    return proof_of(job_secret().text, key + '\0' + text);
  }

  // In the open, and believed by nobody: with it a rank of another secret can be told from one that did not come.
  void say_that_here() { store->set(prefix + "here/" + std::to_string(place.rank), std::vector<uint8_t>{1}); }
  bool came(int rank) { return store->check({prefix + "here/" + std::to_string(rank)}); }

  void put(const std::string& name, const std::string& text) {
    const std::string key = hidden(name), whole = proof(key, text) + text;
    store->set(key, {whole.begin(), whole.end()});
  }

  std::string text_of(const std::string& name) {
    const std::string key = hidden(name);
    if (!store->check({key})) return "";
    const auto bytes = store->get(key);
    const std::string whole(bytes.begin(), bytes.end());
    const size_t length = std::min(kProofLength, whole.size());
    const std::string text = whole.substr(length);
    return equal_proofs(whole.substr(0, length), proof(key, text)) ? text : "";
  }

  std::vector<int> absent(const std::string& key) {
    std::vector<int> ranks;
    for (int rank = 0; rank < place.size; ++rank)
      if (text_of(key + std::to_string(rank)).empty()) ranks.push_back(rank);
    return ranks;
  }

  // What is known of ranks that did not come.
  std::string absence(const std::vector<int>& absent) {
    if (std::ranges::any_of(absent, [&](int rank) { return came(rank); }))
      return fmt::format(
          "{} of {} did not prove to know this job's secret (here: {}); give all ranks the same "
          "TEMPER_SECRET",
          absent_text(absent), place.size, job_secret().from);
    return fmt::format("{} of {} did not come to {}:{} within {:.0f} s", absent_text(absent), place.size,
                       place.master_host, place.master_port, patience_s);
  }
};

Rendezvous::Rendezvous(const RankPlace& place, double patience_s) : impl_(std::make_unique<Impl>()) {
  impl_->place = place;
  impl_->patience_s = patience_s;
  impl_->until_s = now_s() + patience_s;
  const char* restart = std::getenv("TORCHELASTIC_RESTART_COUNT");
  impl_->prefix = fmt::format("temper/{}/", restart ? restart : "0");
  required_job_secret();  // what is wrong with it is said before anybody waits
  impl_->store = open_store(place, impl_->until_s, patience_s);
  impl_->say_that_here();
  impl_->put("size/" + std::to_string(place.rank), std::to_string(place.size));
}

Rendezvous::~Rendezvous() = default;

std::vector<std::string> Rendezvous::exchange(const std::string& name, const std::string& text) try {
  const std::string key = name + "/";
  TEMPER_CHECK(!text.empty());
  impl_->put(key + std::to_string(impl_->place.rank), text);
  for (auto absent = impl_->absent(key); !absent.empty(); absent = impl_->absent(key)) {
    impl_->check_sizes();
    if (interrupted()) impl_->give_up(kExitInterrupted, "interrupted while the ranks met");
    if (!impl_->text_of("code").empty()) impl_->give_up(kExitWorld, "");
    if (now_s() > impl_->until_s + (impl_->place.rank > 0 ? kLinger_s / 2 : 0))
      impl_->give_up(kExitWorld, impl_->absence(absent));
    std::this_thread::sleep_for(kRetry);
  }
  impl_->check_sizes();
  std::vector<std::string> texts;
  for (int rank = 0; rank < impl_->place.size; ++rank)
    texts.push_back(impl_->text_of(key + std::to_string(rank)));
  return texts;
} catch (const c10::Error& e) {
  throw WorldError("rank 0 left while the ranks met: {}", e.what_without_backtrace());
}

}  // namespace temper::policy
