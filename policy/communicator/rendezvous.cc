#include "policy/communicator/rendezvous.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/machine/socket.h"
#include "base/process.h"
#include "policy/communicator/transport.h"

C10_DECLARE_int(caffe2_log_level);

namespace temper {
namespace {

constexpr double kLinger_s = 1;
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
  if (!options.isServer && !answers(place.master_host, place.master_port, until_s))
    throw WorldError("rank {} of {} found nobody at {}, where rank 0 should be, within {:.0f} s", place.rank,
                     place.size, where, patience_s);
  try {
    return c10::make_intrusive<c10d::TCPStore>(place.master_host, options);
  } catch (const c10::Error& e) {
    throw WorldError("rank {} of {} cannot meet the others at {}: {}", place.rank, place.size, where,
                     e.what_without_backtrace());
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
    const bool first = store->add(prefix + "end", 1) == 1;
    if (first) store->set(prefix + "code", {uint8_t(code)});
    if (place.rank == 0) std::this_thread::sleep_for(std::chrono::duration<double>(kLinger_s));
    if (!first) throw SaidElsewhere(store->get(prefix + "code").at(0));
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

  std::string text_of(const std::string& key) {
    if (!has(prefix + key)) return "";
    const auto bytes = store->get(prefix + key);
    return {bytes.begin(), bytes.end()};
  }

  bool has(const std::string& key) { return store->check({key}); }

  std::vector<int> absent(const std::string& key) {
    std::vector<int> ranks;
    for (int rank = 0; rank < place.size; ++rank)
      if (!has(key + std::to_string(rank))) ranks.push_back(rank);
    return ranks;
  }
};

Rendezvous::Rendezvous(const RankPlace& place, double patience_s) : impl_(std::make_unique<Impl>()) {
  impl_->place = place;
  impl_->patience_s = patience_s;
  impl_->until_s = now_s() + patience_s;
  const char* restart = std::getenv("TORCHELASTIC_RESTART_COUNT");
  impl_->prefix = fmt::format("temper/{}/", restart ? restart : "0");
  impl_->store = open_store(place, impl_->until_s, patience_s);
  const std::string size = std::to_string(place.size);
  impl_->store->set(impl_->prefix + "size/" + std::to_string(place.rank), {size.begin(), size.end()});
}

Rendezvous::~Rendezvous() = default;

std::vector<std::string> Rendezvous::exchange(const std::string& name, const std::string& text) try {
  const std::string key = impl_->prefix + name + "/";
  impl_->store->set(key + std::to_string(impl_->place.rank), {text.begin(), text.end()});
  for (auto absent = impl_->absent(key); !absent.empty(); absent = impl_->absent(key)) {
    impl_->check_sizes();
    if (impl_->has(impl_->prefix + "code")) impl_->give_up(kExitWorld, "");
    if (now_s() > impl_->until_s + (impl_->place.rank > 0 ? kLinger_s / 2 : 0))
      impl_->give_up(kExitWorld, fmt::format("{} of {} did not come to {}:{} within {:.0f} s",
                                             absent_text(absent), impl_->place.size, impl_->place.master_host,
                                             impl_->place.master_port, impl_->patience_s));
    std::this_thread::sleep_for(kRetry);
  }
  impl_->check_sizes();
  std::vector<std::string> texts;
  for (int rank = 0; rank < impl_->place.size; ++rank) {
    const auto bytes = impl_->store->get(key + std::to_string(rank));
    texts.emplace_back(bytes.begin(), bytes.end());
  }
  return texts;
} catch (const c10::Error& e) {
  throw WorldError("rank 0 left while the ranks met: {}", e.what_without_backtrace());
}

}  // namespace temper
