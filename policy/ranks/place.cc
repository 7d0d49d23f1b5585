#include "policy/ranks/place.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/error.h"

namespace temper::policy {
namespace {

constexpr int kMaxRanks = 1 << 16;
constexpr int kFirstSlurmPort = 15000, kSlurmPorts = 15000;  // below the ports that systems give out

// The names that one launcher uses.
struct Names {
  Launcher launcher;
  const char *rank, *size, *local_rank;
};

constexpr Names kSets[] = {
    {Launcher::kByHand, "TEMPER_RANK", "TEMPER_WORLD_SIZE", "TEMPER_LOCAL_RANK"},
    {Launcher::kMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {Launcher::kTorchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    // A batch script has SLURM_PROCID and SLURM_NTASKS too, and is one process; srun alone sets this size.
    {Launcher::kSlurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
};

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  std::string text(const char* name) const {
    const char* value = environment_(name);
    return value ? value : "";
  }

  std::optional<int> number(const char* name, int low, int high) const {
    const std::string value = text(name);
    if (value.empty()) return std::nullopt;
    int parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size() || parsed < low || parsed > high)
      throw ConfigError("{}={}: must be a number from {} to {}", name, value, low, high);
    return parsed;
  }

  // Nothing where neither rank nor size is set.
  std::optional<RankPlace> place(const Names& names) const {
    const auto size = number(names.size, 1, kMaxRanks);
    const auto rank = number(names.rank, 0, size.value_or(kMaxRanks) - 1);
    if (!size && (!rank || names.launcher == Launcher::kSlurm)) return std::nullopt;
    if (!rank || !size) {
      const char *there = rank ? names.rank : names.size, *missing = rank ? names.size : names.rank;
      throw ConfigError("{}={} is set and {} is not: set both or none", there, text(there), missing);
    }
    RankPlace place{.launcher = names.launcher, .rank = *rank, .size = *size};
    place.local_rank = number(names.local_rank, 0, *size - 1).value_or(-1);
    return place;
  }

 private:
  const Environment& environment_;
};

void meet_at(const std::string& name, const std::string& address, RankPlace& place) {
  const size_t colon = address.rfind(':');
  const auto port = [&](const char*) { return address.c_str() + colon + 1; };
  if (colon == std::string::npos || colon == 0)
    throw ConfigError("{}={}: must be host:port of rank 0", name, address);
  place.master_host = address.substr(0, colon);
  place.master_port = Reader(port).number(name.c_str(), 1, 65535).value_or(0);
}

void find_meeting(const Reader& reader, RankPlace& place) {
  if (place.launcher == Launcher::kByHand)
    return meet_at("TEMPER_MASTER", reader.text("TEMPER_MASTER"), place);
  place.master_host = reader.text("MASTER_ADDR");
  place.master_port = reader.number("MASTER_PORT", 1, 65535).value_or(0);
  if (place.launcher == Launcher::kSlurm) {
    if (place.master_host.empty()) place.master_host = first_host(reader.text("SLURM_JOB_NODELIST"));
    const int job = reader.number("SLURM_JOB_ID", 0, INT32_MAX).value_or(0);
    if (place.master_port == 0) place.master_port = kFirstSlurmPort + job % kSlurmPorts;
    if (place.master_host.empty())
      throw ConfigError(
          "SLURM_STEP_NUM_TASKS={} is set and neither SLURM_JOB_NODELIST nor MASTER_ADDR says where rank 0 "
          "is",
          place.size);
    return;
  }
  place.master_listens = reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (place.master_host.empty() || place.master_port == 0)
    throw ConfigError("WORLD_SIZE={} is set and {} is not: torchrun sets both", place.size,
                      place.master_host.empty() ? "MASTER_ADDR" : "MASTER_PORT");
}

// SLURM's are left out: they describe the whole allocation, whoever starts what in it.
std::string contradiction(const Reader& reader, const RankPlace& place) {
  for (const Names& names : kSets) {
    if (names.launcher <= place.launcher || names.launcher == Launcher::kSlurm) continue;
    const Names& ours = kSets[int(place.launcher) - 1];
    for (const auto& [mine, other] : {std::pair{ours.rank, names.rank}, std::pair{ours.size, names.size}}) {
      const std::string value = reader.text(other);
      if (!value.empty() && value != reader.text(mine))
        return fmt::format("{}={} contradicts {}={}: unset the one that is wrong", other, value, mine,
                           reader.text(mine));
    }
  }
  return "";
}

// What SLURM has been asked for and one process does not use.
std::string slurm_hint(const Reader& reader) {
  const int tasks = reader.number("SLURM_NTASKS", 1, kMaxRanks).value_or(1);
  if (tasks == 1) return "";
  return fmt::format(
      "SLURM's job {} has {} tasks, and srun did not start this process, which runs alone; srun -n {} in "
      "front "
      "of the command starts as many ranks",
      reader.text("SLURM_JOB_ID"), tasks, tasks);
}

}  // namespace

std::string first_host(const std::string& node_list) {
  const size_t bracket = node_list.find('['), comma = node_list.find(',');
  if (bracket == std::string::npos || comma < bracket) return node_list.substr(0, comma);
  const size_t end = node_list.find_first_of("-,]", bracket);
  const size_t close = node_list.find(']', bracket);
  if (close == std::string::npos) return "";
  const size_t next = node_list.find(',', close);
  const std::string tail = node_list.substr(close + 1, next == std::string::npos ? next : next - close - 1);
  return node_list.substr(0, bracket) + node_list.substr(bracket + 1, end - bracket - 1) + tail;
}

RankPlace find_rank_place(const Environment& environment) {
  const Reader reader(environment);
  for (const Names& names : kSets) {
    auto place = reader.place(names);
    if (!place) continue;
    if (place->size > 1 && place->launcher != Launcher::kMpi) find_meeting(reader, *place);
    place->contradiction = contradiction(reader, *place);
    return *place;
  }
  return {.hint = slurm_hint(reader)};
}

RankPlace find_rank_place() {
  return find_rank_place([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace temper::policy
