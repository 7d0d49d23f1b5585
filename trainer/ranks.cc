#include "trainer/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/process.h"
#include "policy/activity.h"
#include "policy/communicator.h"
#include "policy/communicator/watch.h"
#include "trainer/config.h"
#include "trainer/console.h"
#include "trainer/interrupted.h"
#include "trainer/rank_identity.h"

namespace temper {
namespace {

// Whatever bytes a message or a variable holds.
std::string to_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A rank's end that another one has explained.
struct Ended {
  int code;
};

// A rank's problem, if it has one.
struct Problem {
  int code = kExitOk;
  std::string text;
};

template <class F>
Problem problem_of(const F& f) {
  try {
    f();
    return {};
  } catch (const ConfigError& e) {
    return {kExitUser, e.what()};
  } catch (const LostRanks&) {
    throw;
  } catch (const std::exception& e) {
    return {kExitWorld, e.what()};
  }
}

class Ranks {
 public:
  Ranks(const RankPlace& place, const RankOptions& options)
      : place_(place),
        communicator_(place, options.start_s),
        watch_(communicator_, watch_options(options), options.start_s) {
    communicator_.set_deadline(kPatience * options.timeout_s);
    const nlohmann::json mine = {{"host", host_name()}, {"pid", ::getpid()}};
    for (const std::string& text : communicator_.all_gather(to_text(mine), "meeting")) {
      const auto json = nlohmann::json::parse(text);
      names_.push_back(rank_text(int(names_.size()), place.size, json.at("host"), json.at("pid")));
    }
  }

  Communicator& communicator() { return communicator_; }
  Watch& watch() { return watch_; }
  const RankPlace& place() const { return place_; }

  // Ends all ranks if one has a problem. Rank 0 says the first one, and whose it is if it is not everyone's.
  void agree(const Problem& mine, const char* what) {
    const auto all = communicator_.all_gather(to_text({{"code", mine.code}, {"text", mine.text}}), what);
    for (size_t rank = 0; rank < all.size(); ++rank) {
      const auto json = nlohmann::json::parse(all[rank]);
      const int code = json.at("code");
      if (code == kExitOk) continue;
      const bool everyones = std::ranges::count(all, all[rank]) == std::ssize(all);
      if (communicator_.rank() == 0)
        fmt::print(stderr, "{}{}\n", everyones ? "" : names_[rank] + ": ",
                   json.at("text").get<std::string>());
      throw Ended{code};
    }
  }

  // Ends all ranks where what they say of themselves differs.
  void compare(const RankIdentity& mine) {
    const auto all = communicator_.all_gather(to_text(mine), "comparison");
    const RankIdentity first = nlohmann::json::parse(all[0]);
    for (size_t rank = 1; rank < all.size(); ++rank) {
      const auto difference = find_difference(first, nlohmann::json::parse(all[rank]));
      if (!difference) continue;
      if (communicator_.rank() == 0)
        fmt::print(stderr, "the ranks differ in {}: '{}' on rank 0, '{}' on {}; it must be the same on all\n",
                   difference->what, difference->first, difference->other, names_[rank]);
      throw Ended{kExitUser};
    }
  }

 private:
  static constexpr double kPatience = 20;  // of a wait itself: the watch gives up long before

  static WatchOptions watch_options(const RankOptions& options) {
    return {.silence_s = options.silence_s, .timeout_s = options.timeout_s};
  }

  RankPlace place_;
  Communicator communicator_;
  Watch watch_;
  std::vector<std::string> names_;  // "rank 2 of 4 (host …, pid …)"
};

int run_together(Ranks& ranks, const RankedCommand& command, std::optional<RunConfig>& config,
                 const Problem& read) {
  const Phase phase("start-up");
  ranks.agree(read, "config");
  const std::string& contradiction = ranks.place().contradiction;
  ranks.agree({contradiction.empty() ? kExitOk : kExitUser, contradiction}, "environment");
  ranks.compare(identity_of(*config));
  ranks.agree(problem_of([&] { command.prepare(*config, ranks.communicator()); }), "preparation");
  const int code = command.run(*config, ranks.communicator());
  ranks.communicator().barrier("end");
  return code;
}

int run_on_several(const RankPlace& place, const RankedCommand& command) {
  use_terminal(place.rank == 0);
  std::optional<RunConfig> config;
  const Problem read = problem_of([&] { config = command.read(); });
  Ranks ranks(place, config ? config->ranks : RankOptions{});
  try {
    const int code = run_together(ranks, command, config, read);
    ranks.watch().leave();
    return code;
  } catch (const Ended& end) {
    ranks.communicator().barrier("end");
    ranks.watch().leave();
    return end.code;
  } catch (const Interrupted&) {
    if (place.rank == 0) fmt::print(stderr, "interrupted; nothing was kept\n");
    ranks.communicator().barrier("end");
    ranks.watch().leave();
    return kExitInterrupted;
  } catch (const ConfigError& e) {
    ranks.watch().fail(kExitUser, e.what());
  } catch (const LostRanks& e) {
    ranks.watch().fail(kExitWorld, e.what(), true);
  } catch (const std::exception& e) {
    ranks.watch().fail(kExitWorld, e.what());
  }
}

}  // namespace

void RankOptions::visit(OptionVisitor& v) {
  v.option("start_s", start_s, {.help = "for all ranks to meet", .unit = "s", .min = 1});
  v.option("silence_s", silence_s,
           {.help = "without a sign of life, then a rank counts as lost", .unit = "s", .min = 3});
  v.option("timeout_s", timeout_s,
           {.help = "without progress while others wait for it, then a rank counts as hung",
            .unit = "s",
            .min = 3});
}

int run_ranked(const RankedCommand& command) {
  const RankPlace place = find_rank_place();
  if (place.size > 1) return run_on_several(place, command);
  if (!place.contradiction.empty()) throw ConfigError("{}", place.contradiction);
  RunConfig config = command.read();
  command.prepare(config, alone());
  return command.run(config, alone());
}

void share_machine(RunConfig& config, const Communicator& ranks) {
  if (ranks.size() == 1) return;
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t part = std::max<int64_t>(1, cores / ranks.core_size());
  if (config.run.threads == 0) config.run.threads = part;
  if (config.env.lanes == 0) config.env.lanes = part;
  config.env.first_lane = ranks.core_rank() * config.env.lanes;
  config.env.first_gpu = ranks.local_rank();
  if (auto& gpus = config.env.gpus; !gpus.empty()) {
    std::vector<int64_t> mine;
    for (size_t i = 0; i < gpus.size(); ++i)
      if (int(i) % ranks.local_size() == ranks.local_rank()) mine.push_back(gpus[i]);
    if (mine.empty()) mine.push_back(gpus[size_t(ranks.local_rank()) % gpus.size()]);
    gpus = mine;
  }
}

bool any_interrupted(Communicator& ranks) {
  if (!ranks.any(interrupted(), "interrupts")) return false;
  interrupt();
  return true;
}

}  // namespace temper
