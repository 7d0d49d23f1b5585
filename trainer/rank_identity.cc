#include "trainer/rank_identity.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "env/task_place.h"
#include "trainer/config.h"

extern char** environ;  // NOLINT

namespace temper {
namespace {

// Those that change what is computed or how ranks talk; not those that differ by design, nor secrets, which
// are compared without being told.
bool matters(const std::string& name) {
  if (name.starts_with("TEMPER_SECRET")) return false;
  for (const char* own : {"TEMPER_RANK", "TEMPER_LOCAL_RANK", "TEMPER_FAULT", "CUDA_VISIBLE_DEVICES",
                          "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"})
    if (name == own) return false;
  for (const char* prefix : {"TEMPER_", "NCCL_", "CUDA_", "CUBLAS", "CUDNN", "OMP_", "MKL_", "TORCH_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

void add_environment(RankIdentity& identity) {
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos && matters(text.substr(0, equals)))
      identity.emplace_back("the environment variable " + text.substr(0, equals), text.substr(equals + 1));
  }
}

// One entry per option: "option cold_start.optimizer.lr".
void add_config(const RunConfig& config, RankIdentity& identity) {
  for (const auto& [key, value] : to_map(config)) identity.emplace_back("option " + key, value);
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

std::string value_of(const RankIdentity& identity, const std::string& what) {
  const auto found = std::ranges::find(identity, what, &RankIdentity::value_type::first);
  return found == identity.end() ? "" : found->second;
}

}  // namespace

RankIdentity identity_of(const RunConfig& config) {
  RankIdentity identity = {{"the program", sha256(read_file("/proc/self/exe")).substr(0, 16)}};
  add_config(config, identity);
  identity.emplace_back("the files of tasks.path", fingerprint(place_of_tasks(config.tasks.path)));
  if (!config.model.path.empty())
    identity.emplace_back("the files of model.path", fingerprint(config.model.path));
  add_environment(identity);
  return identity;
}

std::optional<Difference> find_difference(const RankIdentity& first, const RankIdentity& other) {
  for (const RankIdentity* side : {&first, &other})
    for (const auto& [what, ignored] : *side)
      if (value_of(first, what) != value_of(other, what))
        return Difference{what, value_of(first, what), value_of(other, what)};
  return std::nullopt;
}

}  // namespace temper
