#include "trainer/ranks.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "policy/activity.h"
#include "policy/communicator.h"
#include "policy/communicator/watch.h"
#include "trainer/config.h"
#include "trainer/console.h"
#include "trainer/interrupted.h"

extern char** environ;  // NOLINT

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

  // Ends all ranks if one has a problem. Rank 0 says it.
  void agree(const Problem& problem, const char* what) {
    const nlohmann::json mine = {{"code", problem.code}, {"text", problem.text}};
    std::map<std::string, int> texts;
    std::string said;
    int code = kExitOk;
    const auto all = communicator_.all_gather(to_text(mine), what);
    for (size_t rank = 0; rank < all.size(); ++rank) {
      const auto json = nlohmann::json::parse(all[rank]);
      const std::string text = json.at("text");
      if (json.at("code") == int(kExitOk)) continue;
      if (code == kExitOk) code = json.at("code"), said = text;
      if (++texts[text] == 1 && texts.size() == 1) said = names_[rank] + ": " + text;
    }
    if (code == kExitOk) return;
    if (texts.begin()->second == int(all.size())) said = texts.begin()->first;  // everyone's
    if (communicator_.rank() == 0) fmt::print(stderr, "{}\n", said);
    throw Ended{code};
  }

  // Ends all ranks where what they say of themselves differs.
  void compare(const std::map<std::string, std::string>& mine) {
    const auto all = communicator_.all_gather(to_text(mine), "comparison");
    using Said = std::map<std::string, std::string>;
    const Said first = nlohmann::json::parse(all[0]);
    for (size_t rank = 1; rank < all.size(); ++rank) {
      const Said other = nlohmann::json::parse(all[rank]);
      if (const std::string difference = difference_of(first, other, names_[rank]); !difference.empty()) {
        if (communicator_.rank() == 0) fmt::print(stderr, "{}\n", difference);
        throw Ended{kExitUser};
      }
    }
  }

 private:
  static constexpr double kPatience = 20;  // of a wait itself: the watch gives up long before

  static WatchOptions watch_options(const RankOptions& options) {
    return {.silence_s = options.silence_s, .timeout_s = options.timeout_s};
  }

  static std::string difference_of(std::map<std::string, std::string> first,
                                   const std::map<std::string, std::string>& other, const std::string& name) {
    for (const auto& [key, value] : other) first.try_emplace(key, "");
    for (const auto& [key, value] : first) {
      const auto found = other.find(key);
      const std::string its = found == other.end() ? "" : found->second;
      if (value != its)
        return fmt::format("the ranks differ in {}: '{}' on rank 0, '{}' on {}; it must be the same on all",
                           key, value, its, name);
    }
    return "";
  }

  RankPlace place_;
  Communicator communicator_;
  Watch watch_;
  std::vector<std::string> names_;  // "rank 2 of 4 (host …, pid …)"
};

// Those that change what is computed or how ranks talk; not those that differ by design.
bool matters(const std::string& name) {
  for (const char* own : {"TEMPER_RANK", "TEMPER_LOCAL_RANK", "TEMPER_FAULT", "CUDA_VISIBLE_DEVICES",
                          "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"})
    if (name == own) return false;
  for (const char* prefix : {"TEMPER_", "NCCL_", "CUDA_", "CUBLAS", "CUDNN", "OMP_", "MKL_", "TORCH_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

void add_environment(std::map<std::string, std::string>& identity) {
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos && matters(text.substr(0, equals)))
      identity["the environment variable " + text.substr(0, equals)] = text.substr(equals + 1);
  }
}

// One entry per option: "option learner.epochs".
void add_config(const RunConfig& config, std::map<std::string, std::string>& identity) {
  std::istringstream lines(to_yaml(config));
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':'), start = line.find_first_not_of(' ');
    if (colon == std::string::npos) continue;
    if (start == 0) section = line.substr(0, colon);
    identity["option " + (start == 0 ? "" : section + ".") + line.substr(start, colon - start)] +=
        line.substr(colon + 1);
  }
}

// Names, sizes and, of what is small, contents of the files at `path`; "" if there is nothing.
std::string fingerprint(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  constexpr uintmax_t kSmall = 16 << 20;
  std::map<std::string, std::string> files;
  const auto add = [&](const fs::path& file) {
    files[fs::relative(file, path).string()] = fmt::format(
        "{} {}", fs::file_size(file), fs::file_size(file) < kSmall ? sha256(read_file(file)) : "");
  };
  if (fs::is_regular_file(path)) add(path);
  if (fs::is_directory(path))
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) add(entry.path());
  return files.empty() ? "" : sha256(nlohmann::json(files).dump()).substr(0, 16);
}

std::map<std::string, std::string> identity_of(const RunConfig& config, const RankPlace& place) {
  std::map<std::string, std::string> identity;
  identity["the program"] = sha256(read_file("/proc/self/exe")).substr(0, 16);
  identity["the number of ranks"] = std::to_string(place.size);
  identity["the files of tasks.path"] = fingerprint(config.tasks.path);
  if (!config.model.path.empty()) identity["the files of model.path"] = fingerprint(config.model.path);
  add_environment(identity);
  add_config(config, identity);
  return identity;
}

int run_together(Ranks& ranks, const RankedCommand& command, std::optional<RunConfig>& config,
                 const Problem& read) {
  const Phase phase("start-up");
  ranks.agree(read, "config");
  if (!ranks.place().contradiction.empty())
    ranks.agree({kExitUser, ranks.place().contradiction}, "environment");
  else
    ranks.agree({}, "environment");
  ranks.compare(identity_of(*config, ranks.place()));
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
}

bool any_interrupted(Communicator& ranks) {
  if (!ranks.any(interrupted(), "interrupts")) return false;
  interrupt();
  return true;
}

}  // namespace temper
