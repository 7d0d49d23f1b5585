#include "trainer/app/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/machine/cores.h"
#include "base/process.h"
#include "env/judge/judge_server.h"
#include "policy/parameters/shard_groups.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/communicator.h"
#include "policy/ranks/watch.h"
#include "trainer/app/rank_identity.h"
#include "trainer/config/config.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {

using policy::Communicator;
using policy::RankPlace;

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
  } catch (const policy::LostRanks&) {
    throw;
  } catch (const std::exception& e) {
    return {kExitWorld, e.what()};
  }
}

class Ranks {
 public:
  Ranks(const RankPlace& place, const RankOptions& options)
      : place_(place),
        deadline_s_(kPatience * options.timeout_s),
        communicator_(place, options.start_s),
        watch_(communicator_, watch_options(options), options.start_s) {
    communicator_.set_deadline(deadline_s_);
    const nlohmann::json mine = {{"host", policy::host_name()}, {"pid", ::getpid()}};
    for (const std::string& text : communicator_.all_gather(to_text(mine), "meeting")) {
      const auto json = nlohmann::json::parse(text);
      names_.push_back(policy::rank_text(int(names_.size()), place.size, json.at("host"), json.at("pid")));
    }
  }

  Communicator& communicator() { return communicator_; }
  policy::Watch& watch() { return watch_; }
  const RankPlace& place() const { return place_; }

  // The last `count` ranks get the role env.
  void give_roles(int count) {
    if (count == 0) return;
    first_env_ = place_.size - count;
    policy_ = communicator_.first(first_env_, "roles");
    if (!policy_) return;
    policy_->set_deadline(deadline_s_);
    watch_.follow(*policy_);
  }
  bool some_judge() const { return first_env_ < place_.size; }
  bool judges() const { return place_.rank >= first_env_; }
  // The ranks that run the command, for those of them.
  Communicator& policy() { return policy_ ? *policy_ : communicator_; }
  void spare_judges() { watch_.spare(first_env_); }
  // All who are needed have come to their end, and by the same way.
  void end() {
    if (!judges()) policy().same_calls("end");
    watch_.leave();
  }

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

  // Ends all ranks if their identities differ.
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

  static policy::WatchOptions watch_options(const RankOptions& options) {
    return {.silence_s = options.silence_s, .timeout_s = options.timeout_s};
  }

  RankPlace place_;
  const double deadline_s_;
  int first_env_ = place_.size;
  Communicator communicator_;
  std::unique_ptr<Communicator> policy_;
  policy::Watch watch_;
  std::vector<std::string> names_;  // "rank 2 of 4 (host …, pid …)"
};

// Judges for the ranks that run the command until they have ended.
int judge_for_others(Ranks& ranks, const RankedCommand& command, RunConfig& config) {
  std::optional<env::Judge> judge;
  std::optional<env::JudgeServer> server;
  ranks.agree({}, "preparation");
  ranks.agree(problem_of([&] {
                share_machine(config, ranks.communicator());
                judge.emplace(config.env, command.tasks(config));
                server.emplace(*judge);
              }),
              "judges");
  ranks.communicator().all_gather(server->address(), "judges");
  const policy::Phase phase("judging for others");
  server->serve([&] {
    policy::fail_if_asked("judging round");
    return ranks.watch().first_left();
  });
  return interrupted() ? kExitInterrupted : kExitOk;
}

int run_role(Ranks& ranks, const RankedCommand& command, RunConfig& config) {
  if (ranks.judges()) return judge_for_others(ranks, command, config);
  ranks.agree(problem_of([&] { command.prepare(config, ranks.policy()); }), "preparation");
  if (ranks.some_judge()) {
    ranks.agree({}, "judges");
    config.env.servers = ranks.communicator().all_gather("", "judges");
    std::erase(config.env.servers, "");
    ranks.spare_judges();
  }
  return command.run(config, ranks.policy());
}

int run_together(Ranks& ranks, const RankedCommand& command, std::optional<RunConfig>& config,
                 const Problem& read) {
  const policy::Phase phase("start-up");
  ranks.agree(read, "config");
  const std::string& contradiction = ranks.place().contradiction;
  ranks.agree({contradiction.empty() ? kExitOk : kExitUser, contradiction}, "environment");
  ranks.compare(identity_of(*config));
  if (config->ranks.env >= ranks.place().size)
    ranks.agree({kExitUser, fmt::format("ranks.env: {} of {} ranks judge; one at least must hold the policy",
                                        config->ranks.env, ranks.place().size)},
                "roles");
  const Problem degree = problem_of([&] {
    policy::check_shard_degree(config->model.memory.shard_degree, ranks.place().size - config->ranks.env);
  });
  if (degree.code != kExitOk) ranks.agree(degree, "roles");
  ranks.give_roles(int(config->ranks.env));
  return run_role(ranks, command, *config);
}

int run_on_several(const RankPlace& place, const RankedCommand& command) {
  use_terminal(place.rank == 0);
  std::optional<RunConfig> config;
  const Problem read = problem_of([&] { config = command.read(); });
  Ranks ranks(place, config ? config->ranks : RankOptions{});
  try {
    const int code = run_together(ranks, command, config, read);
    ranks.end();
    return code;
  } catch (const Ended& end) {
    ranks.end();
    return end.code;
  } catch (const Interrupted& e) {
    if (place.rank == 0) fmt::print(stderr, "interrupted; {}\n", e.kept);
    ranks.end();
    return kExitInterrupted;
  } catch (const ConfigError& e) {
    ranks.watch().fail(kExitUser, e.what());
  } catch (const policy::LostRanks& e) {
    ranks.watch().fail(kExitWorld, e.what(), true);
  } catch (const std::exception& e) {
    ranks.watch().fail(kExitWorld, e.what());
  }
}

}  // namespace

int run_ranked(const RankedCommand& command) {
  const RankPlace place = policy::find_rank_place();
  if (place.size > 1) return run_on_several(place, command);
  if (!place.contradiction.empty()) throw ConfigError("{}", place.contradiction);
  if (!place.hint.empty()) say_line(place.hint);
  RunConfig config = command.read();
  if (config.ranks.env > 0)
    throw ConfigError(
        "ranks.env: {} ranks that judge need one at least beside them; start several with mpirun",
        config.ranks.env);
  policy::check_shard_degree(config.model.memory.shard_degree, 1);
  command.prepare(config, policy::alone());
  return command.run(config, policy::alone());
}

void share_machine(RunConfig& config, const Communicator& ranks) {
  if (ranks.size() == 1 && ranks.core_size() == 1) return;
  const int64_t part = std::max<int64_t>(1, allowed_core_count() / ranks.core_size());
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

}  // namespace temper::trainer
